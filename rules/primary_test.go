package rules

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules/kstatus"
)

func TestPatch(t *testing.T) {
	const rule = `
  lookups:
  - {id: pods, apiVersion: v1, kind: Pod, selector: {}}
  patch:
    metadata:
      labels: {pod-count: "${string(size(pods))}", a: b}
      annotations: {x: "${self.spec.?x}"}
    spec: {n: "${self.spec.m}"}
`
	s := scene{rule: rule, self: object{"spec": object{"m": int64(1)}}, lookup: map[string][]object{"Pod": {named("a"), named("b")}}}
	s.check(t, `patch {"metadata":{"labels":{"a":"b","pod-count":"2"}},"spec":{"n":1}}`)
	s.self = nil
	s.check(t, `error rules.yaml:14:27: rule "r": patch.spec.n: no such key: m`)
}

func TestPatchWaits(t *testing.T) {
	s := scene{rule: `
  children:
  - id: web
    template: {apiVersion: v1, kind: Service, metadata: {name: web}}
  patch: {metadata: {labels: {ip: "${web.spec.clusterIP}", a: b}}}
`}
	s.check(t, "web: web", "patch waits for web.spec.clusterIP")
}

func TestIgnoredFields(t *testing.T) {
	const rule = `
  children:
  - id: web
    ignoreFields: [spec.replicas, 'metadata.annotations["example.com/x"]']
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, annotations: {example.com/x: "${self.spec.?x}", y: z}}
      spec: {replicas: "${self.spec.n}", paused: true}
`
	spec := func(n int64) object { return object{"spec": object{"n": n, "x": "1"}} }
	s := scene{rule: rule, self: spec(1)}
	r := s.render(t)
	d := first(&r.Children[0])
	if got := body(t, d); strings.Contains(got, "replicas") || strings.Contains(got, "example.com/x") || !strings.Contains(got, `"paused":true`) {
		t.Errorf("ignored fields are part of the rendering: %s", got)
	}
	fields, err := d.Ignored()
	if err != nil {
		t.Fatal(err)
	}
	created, err := d.Complete("", "1", fields)
	if err != nil {
		t.Fatal(err)
	}
	var got object
	if err := json.Unmarshal(created, &got); err != nil {
		t.Fatal(err)
	}
	spec1, metadata := got["spec"].(object), got["metadata"].(object)
	if spec1["replicas"] != 1.0 || metadata["annotations"].(object)["example.com/x"] != "1" || metadata["resourceVersion"] != "1" {
		t.Errorf("created as %s", created)
	}
	hash := d.HashString()
	s.self = spec(5)
	if again := s.render(t); first(&again.Children[0]).HashString() != hash {
		t.Error("the hash covers an ignored field")
	}
	s.self = nil // Neither n nor x: the value of an ignored field matters only for creation.
	s.observed = cluster{"Deployment web": exists(named("web"))}
	s.check(t, "web: web exists")
	s.observed = nil
	s.check(t, `web: web failed rules.yaml:15:36: rule "r": child "web": spec.replicas: no such key: n`)
}

const backup = `
  children:
  - id: data
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: data}}
  validate:
  - expression: self.spec.?valid.orValue(true)
  finalize:
  - id: backup
    timeout: 10m
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: "backup-${data.metadata.name}"}}
  status: {backup: "${backup.?status.?succeeded.orValue(0)}"}
`

func TestFinalize(t *testing.T) {
	dying := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
	t.Run("makes nothing while the primary lives", func(t *testing.T) {
		s := scene{rule: backup}
		s.check(t, "data: data", "backup: excluded", `status {"backup":0}`)
		if r := s.render(t); r.Teardown || !r.NeedsFinalizer() || !first(&r.Children[0]).Tracked {
			t.Errorf("%+v", r)
		}
	})
	t.Run("comes when it is being deleted, valid or not", func(t *testing.T) {
		s := scene{rule: backup, self: object{"metadata": dying["metadata"], "spec": object{"valid": false}},
			observed: cluster{"ConfigMap data": exists(named("data"))}}
		s.check(t, "data: data exists", "backup: backup-data", `status {"backup":0}`)
		if r := s.render(t); !r.Teardown || !r.Matches {
			t.Errorf("%+v", r)
		}
	})
	t.Run("comes when the primary does not match any more", func(t *testing.T) {
		rule := "    when: self.spec.?on.orValue(false)\n" + strings.TrimPrefix(backup, "\n")
		s := scene{rule: rule}
		if r := s.render(t); r.Teardown || r.Matches {
			t.Errorf("without the finalizer it was never here: %+v", r)
		}
		s.self = object{"metadata": object{"name": "p", "namespace": "ns", "finalizers": list{"x", "reconcel.dev/r"}}}
		if r := s.render(t); !r.Teardown || r.Matches || len(r.Children) != 2 {
			t.Errorf("%+v", r)
		}
	})
}

func TestTracking(t *testing.T) {
	const rule = `
  allow:
    clusterScoped: [{group: "", kind: Namespace}]
    namespaces: ["team-*"]
  children:
  - id: here
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: here}}
  - id: space
    template: {apiVersion: v1, kind: Namespace, metadata: {name: "${self.spec.ns}"}}
  - id: there
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: "${self.spec.ns}"}}
`
	s := scene{rule: rule, self: object{"spec": object{"ns": "team-a"}}}
	s.check(t, "here: here", "space: /team-a", "there: team-a/there")
	r := s.render(t)
	var owners []bool
	for i := range r.Children {
		d := first(&r.Children[i])
		got := body(t, d)
		if strings.Contains(got, "ownerReferences") == d.Tracked || strings.Contains(got, AnnotationOwner) != d.Tracked {
			t.Errorf("%s: %s", d.Child.ID, got)
		}
		owners = append(owners, d.Tracked)
	}
	if diff := cmp.Diff([]bool{false, true, true}, owners); diff != "" || !r.NeedsFinalizer() {
		t.Error(diff)
	}
	s.self = object{"spec": object{"ns": "kube-system"}}
	s.check(t, "here: here", "space: /kube-system",
		`there: failed rules.yaml:17:87: rule "r": child "there": metadata.namespace: it is not the primary's namespace, and allow.namespaces does not include it`)
	s.self = object{"metadata": object{"name": "p", "uid": "u1"}, "spec": object{"ns": "team-a"}}
	r = s.render(t)
	for i := range r.Children {
		if first(&r.Children[i]).Tracked {
			t.Error("a cluster-scoped primary may own everything by reference")
		}
	}
}

func TestNamespaceOwnsItsNamespacedChildren(t *testing.T) {
	p := mustLoad(t, `
- name: r
  for: {apiVersion: v1, kind: Namespace}
  children:
  - id: quota
    template: {apiVersion: v1, kind: ResourceQuota, metadata: {name: quota}}
`)
	r := &render(p, object{"metadata": object{"name": "team-a", "uid": "u"}}, nil).Rules[0]
	if d := first(&r.Children[0]); d.Identity.Namespace != "team-a" || d.Tracked {
		t.Errorf("%+v", d)
	}
}

func TestJudgement(t *testing.T) {
	const rule = `
  children:
  - id: job
    onChange: keep
    failWhen: child.status.?failed.orValue(0) > 2
    readyWhen: child.status.?succeeded.orValue(0) > 0
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: job}}
`
	for status, want := range map[string]kstatus.Readiness{"failed": kstatus.Stalled, "succeeded": kstatus.Ready, "active": kstatus.Progressing} {
		live := Live{Object: object{"status": object{status: int64(3)}}, Applied: "an older rendering"}
		s := scene{rule: rule, observed: cluster{"Job job": live}}
		r := s.render(t)
		if d := first(&r.Children[0]); d.Readiness != want {
			t.Errorf("%s: %v %s", status, d.Readiness, d.Reason)
		}
	}
}

func TestFieldsThatAreIgnoredUnderACondition(t *testing.T) {
	const rule = `
  children:
  - id: scaler
    when: self.spec.?scaler.orValue(true)
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: scaler}}
  - id: web
    forEach: [{name: w, in: self.spec.webs}]
    ignoreFields:
    - {path: spec.replicas, when: w.auto}
    - {path: 'metadata.annotations["x"]', when: "true"}
    - {path: spec.selector.matchLabels, when: has(self.spec.wait) && scaler.data.on == "yes"}
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${w.name}", annotations: {x: "1", y: z}}
      spec: {replicas: 2, selector: {matchLabels: "${self.spec.?labels}"}}
`
	webs := list{object{"name": "auto", "auto": true}, object{"name": "fixed", "auto": false}}
	s := scene{rule: rule, self: object{"spec": object{"webs": webs}}}
	r := s.render(t)
	for i, want := range []struct {
		spec  string
		paths [][]string
	}{
		{`"spec":{"selector":{}}`, [][]string{{"metadata", "annotations", "x"}, {"spec", "replicas"}}},
		{`"spec":{"replicas":2,"selector":{}}`, [][]string{{"metadata", "annotations", "x"}}},
	} {
		d := &r.Children[1].Objects[i]
		got := body(t, d)
		if !strings.Contains(got, want.spec) || !strings.Contains(got, `"annotations":{"y":"z"}`) {
			t.Errorf("%s: %s", d.Subject(), got)
		}
		paths := d.IgnoredPaths()
		slices.SortFunc(paths, slices.Compare)
		if diff := cmp.Diff(want.paths, paths); diff != "" {
			t.Errorf("%s ignores %s", d.Subject(), diff)
		}
		whole, err := d.Whole()
		if err != nil || whole["spec"].(object)["replicas"] != int64(2) {
			t.Errorf("%s is created without its replicas: %v %v", d.Subject(), whole, err)
		}
	}

	s.self = object{"spec": object{"webs": webs[:1], "wait": true}}
	s.check(t, "scaler: scaler", "web: auto waiting waits for scaler.data.on")
	s.self = object{"spec": object{"webs": list{object{"name": "auto"}}}}
	s.check(t, "scaler: scaler", `web: auto failed rules.yaml:15:36: rule "r": child "web"[0]: ignoreFields[0].when: no such key: auto`)
	s.self = object{"spec": object{"webs": webs[:1], "wait": true, "scaler": false}}
	s.check(t, "scaler: excluded",
		`web: auto failed rules.yaml:17:47: rule "r": child "web"[0]: ignoreFields[2].when: reads scaler, which when excludes: read it with .? or has()`)
}
