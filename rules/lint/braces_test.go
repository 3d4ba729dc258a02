package lint

import "testing"

var texts = inRule(`  let:
    base: self.spec.image
  children:
  - id: web
    forEach: [{name: zone, in: self.spec.zones}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${zone.name}", annotations: {note: "copies self.spec.image to the map"}}
      data:
        text: plain
        other: '{"a": "${base}"}'
`)

func TestLiteralText(t *testing.T) {
	finds(t, LiteralText, texts, []mistake{
		{"a path in a text", "text: plain", "text: projects/self.spec.project/x", `"self.spec.project" in the text`},
		{"a call", "text: plain", "text: string(self.spec.replicas)", `"self.spec.replicas" in the text`},
		{"Ruby", "text: plain", `text: "a-#{web.metadata.name}"`, `in the text is not an expression`},
		{"Python", "text: plain", `text: "a-{zone.name}"`, `"{zone.name}" in the text`},
		{"a shell", "text: plain", "text: $base", `"$base" in the text`},
		{"Helm", "text: plain", `text: "{{ .Values.image }}"`, "rules are no Helm templates"},
		{"a brace too many", "text: plain", `text: "${base}}"`, "a } follows directly after ${...}"},
		{"a template of Alertmanager", "text: plain", `text: "{{ .CommonLabels.job }}"`, ""},
		{"a variable of the shell", "text: plain", "text: $HOME/x", ""},
		{"JSON", "text: plain", `text: '{"a": {"b": ${base}}}'`, ""},
		{"a domain", "text: plain", "text: web.example.com/status", ""},
	})
}

var fields = inRule(`  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}", annotations: {note: plain}}
      spec:
        selector: {matchLabels: {a: b}}
        template:
          metadata: {labels: {a: b}}
          spec: {containers: [{name: a, image: "nginx:1", args: [first], env: [{name: A, value: second}]}]}
  - id: alerts
    template:
      apiVersion: monitoring.coreos.com/v1
      kind: PrometheusRule
      metadata: {name: "${self.metadata.name}"}
      spec: {groups: [{name: a, rules: [{alert: A, expr: third}]}]}
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}"}
      data: {nginx.conf: fourth}
`)

func TestForeignSyntax(t *testing.T) {
	finds(t, ForeignSyntax, fields, []mistake{
		{"kubectl", "nginx:1", "{.spec.image}", "containers[0].image: {.spec.image} is literal text"},
		{"Kyverno", "nginx:1", "{{request.object.spec.image}}", "the resource is self"},
		{"within a text", "nginx:1", "a/{{ .spec.name }}:1", "{{ .spec.name }} is literal text"},
		{"around an expression", "nginx:1", "{{ ${self.spec.image} }}", "{{ ${...} }} is literal text"},
		{"after an expression", "nginx:1", "${self.spec.image}.spec.image", ""},
		{"an annotation", "note: plain", `note: "{{ $labels.pod }} {.spec.image}"`, ""},
		{"an argument", "[first]", `["$(A)", "$HOME", "{{.Name}}"]`, ""},
		{"a variable", "value: second", `value: "{{ .Name }}"`, ""},
		{"an alert", "expr: third", `expr: 'up{job="a"}', annotations: {summary: "{{ $labels.pod }} of {{request.object.a}}"}`, ""},
		{"a file", "nginx.conf: fourth", `nginx.conf: "log_format a '{$request_id}'; {{ env }} {.spec.a}"`, ""},
	})
}

var waiting = inRule(`  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
  conditions:
  - {type: Up, when: "web.status.?availableReplicas.orValue(0) > 0"}
`)

func TestZeroStatus(t *testing.T) {
	finds(t, ZeroStatus, waiting, []mistake{
		{"without a default", "web.status.?availableReplicas.orValue(0) > 0", "web.status.availableReplicas > 0", "has no status.availableReplicas while it is 0"},
		{"guarded", "web.status.?availableReplicas.orValue(0) > 0", "has(web.status.readyReplicas) && web.status.readyReplicas > 0", ""},
		{"always there", "web.status.?availableReplicas.orValue(0) > 0", "web.status.observedGeneration > 0", ""},
	})
}

func TestZeroStatusInStatus(t *testing.T) {
	const right = "web.status.?availableReplicas.orValue(0) > 0\"}\n"
	status := func(text string) string { return right + "  status: {ready: '" + text + "'}\n" }
	finds(t, ZeroStatus, waiting, []mistake{
		{"a copy", right, status("${ web.status.readyReplicas }"), ""},
		{"in a text", right, status("${web.status.readyReplicas} of 3"), "status.ready: a Deployment has no status.readyReplicas while it is 0"},
		{"computed", right, status("${3 - web.status.readyReplicas}"), "status.ready: a Deployment has no status.readyReplicas while it is 0"},
		{"guarded", right, status("${has(web.status.readyReplicas) ? string(web.status.readyReplicas) : \"none\"}"), ""},
		{"always there", right, status("generation ${web.status.observedGeneration}"), ""},
	})
}

var waitingLets = inRule(`  let:
    up: web.status.?availableReplicas.orValue(0) > 0
    state: {ready: "${up}", more: "${web.status.readyReplicas}"}
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}
  conditions:
  - {type: Up, when: "state.ready && 'state.more' != ''"}
`)

func TestZeroStatusInLets(t *testing.T) {
	const guarded = "web.status.?availableReplicas.orValue(0) > 0"
	finds(t, ZeroStatus, waitingLets, []mistake{
		{"in a let", guarded, "web.status.availableReplicas > 0", "let.up: a Deployment has no status.availableReplicas while it is 0"},
		{"in the data of a let", "${up}", "${web.status.availableReplicas > 0}", "let.state: a Deployment has no status.availableReplicas while it is 0"},
		{"guarded by the condition", "state.ready &&", "has(web.status.readyReplicas) && state.more > 0 &&", ""},
	})
}
