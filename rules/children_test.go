package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/kstatus"
)

const webAndProxy = `
  children:
  - id: proxy
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: proxy}, data: {ip: "${web.spec.clusterIP}"}}
  - id: web
    template: {apiVersion: v1, kind: Service, metadata: {name: web}}
`

const migrateAndWeb = `
  children:
  - id: web
    after: [migrate]
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
  - id: migrate
    when: self.spec.?migrate.orValue(true)
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: "migrate-${self.spec.version}"}}
`

func job(conditions ...any) Live {
	return exists(object{"status": object{"startTime": "2024", "conditions": conditions}})
}

func TestWaiting(t *testing.T) {
	for _, s := range []story{
		{
			name: "a child that reads one that does not exist waits, and comes after it",
			rule: webAndProxy,
			want: []string{"web rendered; progressing: not created yet", "proxy waiting waits for web.spec.clusterIP"},
		},
		{
			name: "a field that is not there yet", rule: webAndProxy, cluster: cluster{"Service web": exists(object{"spec": object{}})},
			want: []string{"web rendered; ready", "proxy waiting waits for web.spec.clusterIP"},
		},
		{
			name: "until it is there", rule: webAndProxy, cluster: cluster{"Service web": exists(object{"spec": object{"clusterIP": "10.0.0.1"}})},
			want: []string{"web rendered; ready", "proxy rendered; progressing: not created yet"},
		},
		{
			name: "a name can wait as well",
			rule: `
  children:
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "b-${a.metadata.uid}"}}
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: "${b.metadata.uid}"}}
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
`,
			want: []string{"a rendered; progressing: not created yet", "b waiting waits for a.metadata.uid", "c waiting waits for b.metadata.uid"},
		},
		{
			name: "when can wait, and nothing exists less for that",
			rule: `
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: b
    when: a.data.go == "yes"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`,
			want: []string{"a rendered; progressing: not created yet", "b waiting waits for a.data.go"},
		},
		{
			name: "children of the same name that exclude each other wait together",
			rule: `
  children:
  - id: db
    template: {apiVersion: example.com/v1, kind: Database, metadata: {name: db}}
  - id: a
    when: db.status.mode == "a"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
  - id: b
    when: db.status.mode == "b"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
`,
			want: []string{"db rendered; progressing: not created yet", "a waiting waits for db.status.mode", "b waiting waits for db.status.mode"},
		},
		{
			name: "all that a rule waits for is told, sorted and once, through lets too",
			rule: `
  let:
    ip: web.spec.clusterIP
    both: {ip: "${ip}", port: "${web.spec.port}"}
  children:
  - id: web
    template: {apiVersion: v1, kind: Service, metadata: {name: web}}
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: "${[both, ip]}"}}
  conditions:
  - {type: Up, when: 'both.ip != ""'}
`,
			want: []string{"web rendered; progressing: not created yet", "c waiting waits for web.spec.clusterIP, web.spec.port",
				"condition Up Unknown Waiting waits for web.spec.clusterIP, web.spec.port"},
		},
		{
			name: "status and conditions leave out what they have to wait for",
			rule: `
  children:
  - id: web
    template: {apiVersion: v1, kind: Service, metadata: {name: web}}
  status:
    ip: ${web.spec.clusterIP}
    url: http://${web.spec.clusterIP}/
    nested: {ip: "${web.spec.clusterIP}", name: "${self.metadata.name}"}
    list: [1, "${web.spec.clusterIP}"]
    one: 1
    known: ${web.?spec.?clusterIP.orValue("none")}
  conditions:
  - {type: Up, when: 'web.spec.clusterIP != ""'}
  - {type: There, when: has(web.metadata), reason: "${has(web.metadata) ? 'Yes' : 'No'}", message: "at ${web.spec.clusterIP}"}
`,
			want: []string{"web rendered; progressing: not created yet", `status {"known":"none","nested":{"name":"p"},"one":1}`,
				"condition Up Unknown Waiting waits for web.spec.clusterIP", "condition There False No"},
		},
		{
			name: "before the first write the primary's status is not there yet",
			rule: `
  validate:
  - expression: self.status.phase != "Broken"
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {x: "${self.status.phase}"}}
  status: {phase: "New", last: "${self.status.phase}"}
`,
			want: []string{"c waiting waits for self.status.phase", `status {"phase":"New"}`},
		},
		{
			name: "an error in one field of status leaves the others",
			rule: `
  status: {a: "${self.spec.nope}", b: 1, c: ["${self.spec.no}"]}
  conditions:
  - {type: Bad, when: self.spec.nada}
  - {type: Odd, when: 'self.spec.?odd.orValue("x")'}
  - {type: Good, when: true, reason: "not ${'a'} word"}
  - {type: Told, when: true, event: "${'Error'}"}
`,
			want: []string{`status {"b":1}`,
				`condition Bad Unknown RuleError rules.yaml:10:32: rule "r": condition "Bad": when: no such key: nada`,
				`condition Odd Unknown RuleError rules.yaml:11:24: rule "r": condition "Odd": when: must be true or false, got string`,
				`condition Good True Good`, `condition Told True Told`,
				`status error rules.yaml:8:27: rule "r": status.a: no such key: nope; ` +
					`rules.yaml:8:58: rule "r": status.c: no such key: no; ` +
					`rules.yaml:10:32: rule "r": condition "Bad": when: no such key: nada; ` +
					`rules.yaml:11:24: rule "r": condition "Odd": when: must be true or false, got string; ` +
					`rules.yaml:12:38: rule "r": condition "Good": reason: must be one word of at most 1024 letters, digits and _; ` +
					`rules.yaml:13:37: rule "r": condition "Told": event: must be Normal, Warning, or "" for no Event`},
		},
	} {
		t.Run(s.name, s.run)
	}
}

func TestExclusion(t *testing.T) {
	const three = `
  children:
  - id: a
    when: self.spec.a
    template: {apiVersion: v1, kind: Service, metadata: {name: a}}
  - id: b
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {ip: "${a.spec.ip}", x: "${gone.data.x}"}}
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {uid: "${b.metadata.uid}"}}
  - id: d
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: d}, data: {ip: "${a.?spec.?ip.orValue('none')}"}}
  - id: e
    after: [a]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: e}}
  - id: gone
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: gone}}
  status: {ip: "${a.spec.ip}", other: "${a.?spec.?ip.orValue('none')}"}
  conditions:
  - {type: Up, when: 'a.spec.ip != ""'}
`
	for _, s := range []story{
		{
			name: "when: false excludes what reads the child, and what reads that",
			rule: three, spec: object{"a": false},
			cluster: cluster{"Service a": exists(object{"spec": object{"ip": "1"}})},
			want: []string{"a excluded", "d rendered; progressing: not created yet", "e rendered; progressing: not created yet",
				"gone rendered; progressing: not created yet", "b excluded", "c excluded", `status {"other":"none"}`,
				"condition Up Unknown Excluded disabled by when: a"},
		},
		{
			name: "an error in when is no exclusion", rule: three, spec: object{},
			want: []string{`a failed [rules.yaml:10:20: rule "r": child "a": when: no such key: a]`, "d rendered; progressing: not created yet",
				"e rendered waits for a \"a\" to be ready: cannot be rendered; progressing: not created yet",
				"gone rendered; progressing: not created yet", "b waiting waits for a.spec.ip", "c waiting waits for b.metadata.uid",
				`status {"other":"none"}`, "condition Up Unknown Waiting waits for a.spec.ip"},
		},
		{
			name: "nor is a when that is neither true nor false", rule: three, spec: object{"a": "yes"},
			want: []string{`a failed [rules.yaml:10:11: rule "r": child "a": when: must be true or false, got string]`, "d rendered; progressing: not created yet",
				"e rendered waits for a \"a\" to be ready: cannot be rendered; progressing: not created yet",
				"gone rendered; progressing: not created yet", "b waiting waits for a.spec.ip", "c waiting waits for b.metadata.uid",
				`status {"other":"none"}`, "condition Up Unknown Waiting waits for a.spec.ip"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

func TestGates(t *testing.T) {
	const readers = `
  children:
  - id: db
    readyWhen: child.status.ready && self.spec.on
    template: {apiVersion: example.com/v1, kind: Database, metadata: {name: db}}
  - id: web
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {host: "${db.metadata.name}"}}
`
	const dump = `
  children:
  - id: dump
    readyWhen: child.status.?succeeded.orValue(0) > 0
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: dump}, spec: {}}
`
	for _, s := range []story{
		{
			name: "after waits for readiness", rule: migrateAndWeb, spec: object{"version": "1"},
			want: []string{"migrate rendered; progressing: not created yet",
				`web rendered waits for migrate "migrate-1" to be ready: not created yet; progressing: not created yet`},
		},
		{
			name: "a Job is ready when it is complete", rule: migrateAndWeb, spec: object{"version": "1"},
			cluster: cluster{"Job migrate-1": job()},
			want: []string{"migrate rendered; progressing: 0 of 1 complete",
				`web rendered waits for migrate "migrate-1" to be ready: 0 of 1 complete; progressing: not created yet`},
		},
		{
			name: "then the gate opens", rule: migrateAndWeb, spec: object{"version": "1"},
			cluster: cluster{"Job migrate-1": job(object{"type": "Complete", "status": "True"})},
			want:    []string{"migrate rendered; ready", "web rendered; progressing: not created yet"},
		},
		{
			name: "a failed Job is stalled", rule: migrateAndWeb, spec: object{"version": "1"},
			cluster: cluster{"Job migrate-1": job(object{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"})},
			want: []string{"migrate rendered; stalled: BackoffLimitExceeded",
				`web rendered waits for migrate "migrate-1" to be ready: BackoffLimitExceeded; progressing: not created yet`},
		},
		{
			name: "there is no waiting for an excluded child", rule: migrateAndWeb, spec: object{"migrate": false},
			want: []string{"migrate excluded", "web rendered; progressing: not created yet"},
		},
		{
			name: "a child that cannot be named keeps the gate closed", rule: migrateAndWeb,
			want: []string{`migrate failed [rules.yaml:14:86: rule "r": child "migrate": metadata.name: no such key: version]`,
				"web rendered waits for migrate to be ready: cannot be rendered; progressing: not created yet"},
		},
		{
			name: "a child with readyWhen is a gate for its readers", rule: readers, spec: object{"on": true},
			cluster: cluster{"Database db": exists(object{"metadata": object{"name": "db"}})},
			want: []string{"db rendered; progressing: readyWhen waits for child.status.ready",
				`web rendered waits for db "db" to be ready: readyWhen waits for child.status.ready; progressing: not created yet`},
		},
		{
			name: "readyWhen false", rule: readers, spec: object{"on": false},
			cluster: cluster{"Database db": exists(object{"metadata": object{"name": "db"}, "status": object{"ready": true}})},
			want: []string{"db rendered; progressing: readyWhen is false",
				`web rendered waits for db "db" to be ready: readyWhen is false; progressing: not created yet`},
		},
		{
			name: "readyWhen true", rule: readers, spec: object{"on": true},
			cluster: cluster{"Database db": exists(object{"metadata": object{"name": "db"}, "status": object{"ready": true}})},
			want:    []string{"db rendered; ready", "web rendered; progressing: not created yet"},
		},
		{
			name: "readyWhen that fails", rule: readers,
			cluster: cluster{"Database db": exists(object{"metadata": object{"name": "db"}, "status": object{"ready": true}})},
			want: []string{`db rendered; stalled: rules.yaml:10:47: rule "r": child "db": readyWhen: no such key: on`,
				`web rendered waits for db "db" to be ready: rules.yaml:10:47: rule "r": child "db": readyWhen: no such key: on; progressing: not created yet`},
		},
		{
			name: "a failed Job with a readyWhen is stalled, too", rule: dump,
			cluster: cluster{"Job dump": job(object{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"})},
			want:    []string{"dump rendered; stalled: BackoffLimitExceeded"},
		},
		{
			name: "unless readyWhen is true", rule: dump,
			cluster: cluster{"Job dump": exists(object{"metadata": object{"name": "dump"}, "status": object{
				"succeeded": 1, "conditions": []any{object{"type": "Failed", "status": "True"}}}})},
			want: []string{"dump rendered; ready"},
		},
		{
			name: "an object that carries another rendering is not ready", rule: readers, spec: object{"on": true},
			cluster: cluster{"Database db": {Object: object{"metadata": object{"name": "db"}, "status": object{"ready": true}}, Applied: "00"}},
			want: []string{"db rendered; progressing: not updated yet",
				`web rendered waits for db "db" to be ready: not updated yet; progressing: not created yet`},
		},
		{
			name: "nor is one that is being deleted", rule: readers, spec: object{"on": true},
			cluster: cluster{"Database db": exists(object{"metadata": object{"name": "db", "deletionTimestamp": "2024"}, "status": object{"ready": true}})},
			want:    []string{"db rendered; progressing: being deleted", "web waiting waits for db (being deleted)"},
		},
	} {
		t.Run(s.name, s.run)
	}
}

func TestCarriesThisRendering(t *testing.T) {
	const rule = `
- name: r
  for: {apiVersion: v1, kind: Pod}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`
	created := one(t, rule, primary(), nil)
	hash := first(&created.Children[0]).HashString()
	if len(hash) != 32 {
		t.Fatal(hash)
	}
	r := one(t, rule, primary(), cluster{"ConfigMap c": {Object: object{}, Applied: hash}})
	if first(&r.Children[0]).Readiness != kstatus.Ready || first(&r.Children[0]).HashString() != hash {
		t.Errorf("%+v", *first(&r.Children[0]))
	}
}

func TestTwoChildrenAreOneObject(t *testing.T) {
	p := mustLoad(t, `
- name: one
  for: {apiVersion: example.com/v1, kind: Primary}
  children:
  - id: a
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: same}}
  - id: b
    template: {apiVersion: v1, kind: Service, metadata: {name: same}}
- name: two
  for: {apiVersion: example.com/v1, kind: Primary}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${'sa' + 'me'}"}}
`)
	out := render(p, primary(), nil)
	var got []string
	for i := range out.Rules {
		got = append(got, outline(&out.Rules[i])...)
	}
	want := []string{
		`a failed [rules.yaml:8:66: rule "one": child "a": metadata.name: child "c" of rule "two" has the same kind, namespace and name]`,
		"b rendered; progressing: not created yet",
		`c failed [rules.yaml:15:66: rule "two": child "c": metadata.name: child "a" of rule "one" has the same kind, namespace and name]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLiteralsOfOneRuleDoNotFailAnother(t *testing.T) {
	p := mustLoad(t, `
- name: bad
  for: {apiVersion: example.com/v1, kind: Primary, when: self.spec.nope}
- name: good
  for: {apiVersion: example.com/v1, kind: Primary}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
`)
	out := render(p, primary(), nil)
	if out.Rules[0].Err == nil || out.Rules[1].Err != nil || first(&out.Rules[1].Children[0]).State != Rendered {
		t.Errorf("%+v", out.Rules)
	}
}
