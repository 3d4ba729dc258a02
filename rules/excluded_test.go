package rules

import "testing"

// databases are two children that exclude each other, and one that reads both.
func databases(when string) string {
	return `
  children:
  - id: internal
    when: self.spec.db == "internal"
    template: {apiVersion: example.com/v1, kind: Database, metadata: {name: internal}}
  - id: external
    when: self.spec.db == "external"
    template: {apiVersion: example.com/v1, kind: Database, metadata: {name: external}}
  - id: app
    when: '` + when + `'
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: app}}
`
}

// TestDecidableWithoutTheExcluded expects that what an expression reads of an excluded child decides about an object
// only if nothing else can.
func TestDecidableWithoutTheExcluded(t *testing.T) {
	spec := object{"db": "external"}
	ready := cluster{"Database external": exists(object{"status": object{"ready": true}})}
	unready := cluster{"Database external": exists(object{"status": object{"ready": false}})}
	const internal, external = "internal excluded", "external rendered; ready"
	const made, rendered, excluded = "external rendered; progressing: not created yet",
		"app rendered; progressing: not created yet", "app excluded"
	const waits = "app waiting waits for external.status.ready"
	for _, s := range []story{
		{name: "the other side of || is true", rule: databases("internal.status.ready || external.status.ready"),
			cluster: ready, want: []string{internal, external, rendered}},
		{name: "the other side of || is false", rule: databases("internal.status.ready || external.status.ready"),
			cluster: unready, want: []string{internal, external, excluded}},
		{name: "the other side of || is not known yet",
			rule: databases("internal.status.ready || external.status.ready"),
			want: []string{internal, made, waits}},
		{name: "of several, in any order", rule: databases(
			"external.status.ready || internal.status.ready || internal.status.old || internal.status.ready"),
			want: []string{internal, made, waits}},
		{name: "in a loop", rule: databases("[internal, external].exists(d, d.status.ready)"),
			want: []string{internal, made, excluded}}, // The list itself cannot be computed.
		{name: "in a loop over what is known",
			rule: databases(`["a", "b"].exists(d, d == "a" ? external.status.ready : internal.status.ready)`),
			want: []string{internal, made, waits}},
		{name: "through a let", rule: "\n  let:\n    up: internal.status.ready || external.status.ready" + databases("up"),
			want: []string{internal, made, waits}},
		{name: "of a negation", rule: databases("!(internal.status.ready && external.status.ready)"),
			want: []string{internal, made, waits}},
		{name: "both sides of || are excluded", rule: databases("internal.status.ready || internal.status.old"),
			want: []string{internal, made, excluded}},
		{name: "a sum cannot be decided", rule: databases("internal.status.n + external.status.n > 1"),
			want: []string{internal, made, excluded}},
		{name: "a condition cannot be decided", rule: databases("internal.status.ready ? external.status.ready : true"),
			want: []string{internal, made, excluded}},
		{name: "&& can never become true", rule: databases("internal.status.ready && external.status.ready"),
			want: []string{internal, made, excluded}},
		{name: "&& in a side of || can never become true",
			rule: databases("external.status.ready || external.status.old && internal.status.ready"),
			want: []string{internal, made, waits}},
		{name: "a template", rule: databases("true") + `
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: r, labels: {up: "${internal.status.ready || external.status.ready ? 'y' : 'n'}"}}}
`, want: []string{internal, made, rendered, "reader waiting waits for external.status.ready"}},
		{name: "a condition of the rule", rule: databases("true") + `
  conditions:
  - {type: Up, when: internal.status.ready || external.status.ready}
`, want: []string{internal, made, rendered, "condition Up Unknown Waiting waits for external.status.ready"}},
	} {
		s.spec = spec
		t.Run(s.name, s.run)
	}
}
