package rules

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

// scene is a rule, a primary, and the part of a cluster that a rendering may read.
type scene struct {
	rule      string // the fields after for:
	self      object // metadata and the like, over a primary ns/p
	observed  cluster
	owned     []Live
	unwatched error               // of owned
	lookup    map[string][]object // by kind: the existing objects
	asked     []string
}

func (s *scene) render(t *testing.T) *RuleResult {
	t.Helper()
	self := object{"metadata": object{"name": "p", "namespace": "ns", "uid": "u1"}, "spec": object{}}
	maps.Copy(self, s.self)
	p := mustLoad(t, "- name: r\n  for:\n    apiVersion: example.com/v1\n    kind: Primary\n"+strings.TrimPrefix(s.rule, "\n"))
	var out Rendering
	p.Primaries()[0].Render(Input{
		Self: self, Observed: s.observed.observed,
		Owned: func(*Rule, *Child) ([]Live, error) { return s.owned, s.unwatched },
		Lookup: func(l *Lookup, q Query) ([]map[string]any, error) {
			s.asked = append(s.asked, fmt.Sprintf("%s ns=%s everywhere=%v name=%s selector=%v", l.GVK.Kind, q.Namespace, q.Everywhere, q.Name, q.Selector))
			var found []map[string]any
			for _, o := range s.lookup[l.GVK.Kind] {
				if q.Selector == nil && identityOf(o).name == q.Name || q.Selector != nil && q.Selector.Matches(LabelsOf(o)) {
					found = append(found, o)
				}
			}
			return found, nil
		},
	}, &out)
	return &out.Rules[0]
}

// objects prints the result for each object.
func objects(r *RuleResult) []string {
	if r.Err != nil {
		return []string{string(r.Err.Reason) + ": " + r.Err.Message}
	}
	states := [...]string{"rendered", "excluded", "waiting", "failed"}
	var out []string
	for i := range r.Children {
		c := &r.Children[i]
		if c.State != Rendered && len(c.Objects) == 0 {
			line := c.Child.ID + ": " + states[c.State]
			if c.Err != nil {
				line += " " + c.Err.Message
			}
			if len(c.Waits) > 0 {
				line += " " + strings.Join(c.Waits, ", ")
			}
			out = append(out, line)
			continue
		}
		for j := range c.Objects {
			d := &c.Objects[j]
			line := c.Child.ID + ": " + d.Identity.Name
			switch {
			case d.Identity.Name == "":
				line = c.Child.ID + ":"
			case d.Identity.Namespace != "ns":
				line = c.Child.ID + ": " + d.Identity.Namespace + "/" + d.Identity.Name
			}
			if d.Live.Object != nil {
				line += " exists"
			}
			if d.State != Rendered {
				line += " " + states[d.State]
			}
			if d.Err != nil {
				line += " " + d.Err.Message
			}
			if len(d.Waits) > 0 {
				line += " waits for " + strings.Join(d.Waits, ", ")
			}
			out = append(out, line)
		}
	}
	if len(r.Status) > 0 {
		out = append(out, "status "+string(r.Status))
	}
	if len(r.Patch) > 0 {
		out = append(out, "patch "+string(r.Patch))
	}
	for _, f := range []*Failure{r.PatchErr, r.StatusErr} {
		if f != nil {
			out = append(out, "error "+f.Message)
		}
	}
	if len(r.PatchWaits) > 0 {
		out = append(out, "patch waits for "+strings.Join(r.PatchWaits, ", "))
	}
	return out
}

func (s *scene) check(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, objects(s.render(t))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

const workers = `
  children:
  - id: workers
    forEach: [{name: w, index: i, in: self.spec.workers}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${w.name}"}, data: {n: "${string(i)}"}}
  - id: reader
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {n: "${workers.map(w, w.metadata.name).join(',')}"}}
  status:
    workers: ${size(existing(workers))}
`

func named(name string) object { return object{"metadata": object{"name": name, "namespace": "ns"}} }

func TestForEach(t *testing.T) {
	ab := object{"workers": list{object{"name": "b"}, object{"name": "a"}}}
	t.Run("makes one object for each element", func(t *testing.T) {
		(&scene{rule: workers, self: object{"spec": ab}}).check(t,
			"workers: p-b", "workers: p-a", "reader: reader waiting waits for workers (0 of 2 exist)", `status {"workers":0}`)
	})
	t.Run("is a list of what exists, by name", func(t *testing.T) {
		s := scene{rule: workers, self: object{"spec": ab},
			observed: cluster{"ConfigMap p-a": exists(named("p-a")), "ConfigMap p-b": exists(named("p-b"))}}
		s.check(t, "workers: p-b exists", "workers: p-a exists", "reader: reader", `status {"workers":2}`)
		if got := body(t, first(&s.render(t).Children[1])); !strings.Contains(got, `"n":"p-a,p-b"`) {
			t.Error(got)
		}
	})
	t.Run("as a map makes the combinations in the order of the file", func(t *testing.T) {
		s := scene{rule: `
  children:
  - id: pods
    onChange: keep
    forEach:
      z: self.spec.zones
      a: z.racks
    template: {apiVersion: v1, kind: Pod, metadata: {name: "${z.name}-${a}"}}
`, self: object{"spec": object{"zones": list{object{"name": "b", "racks": list{"2", "1"}}, object{"name": "a", "racks": list{"1"}}}}}}
		s.check(t, "pods: b-2", "pods: b-1", "pods: a-1")
	})
	t.Run("of nothing makes nothing", func(t *testing.T) {
		(&scene{rule: workers, self: object{"spec": object{"workers": list{}}}}).check(t, "reader: reader", `status {"workers":0}`)
	})
	t.Run("numbers the elements", func(t *testing.T) {
		r := (&scene{rule: workers, self: object{"spec": ab}}).render(t)
		if got := body(t, &r.Children[0].Objects[1]); !strings.Contains(got, `"n":"1"`) {
			t.Error(got)
		}
	})
	t.Run("needs a list", func(t *testing.T) {
		(&scene{rule: workers, self: object{"spec": object{"workers": object{}}}}).check(t,
			`workers: failed rules.yaml:10:39: rule "r": child "workers": forEach: must be a list, got a map`,
			"reader: reader waiting waits for workers (cannot be rendered)", `status {"workers":0}`)
	})
	t.Run("does not take an error for an empty list", func(t *testing.T) {
		(&scene{rule: workers}).check(t,
			`workers: failed rules.yaml:10:48: rule "r": child "workers": forEach: no such key: workers`,
			"reader: reader waiting waits for workers (cannot be rendered)", `status {"workers":0}`)
	})
	t.Run("finds elements that are the same object", func(t *testing.T) {
		(&scene{rule: workers, self: object{"spec": object{"workers": list{object{"name": "a"}, object{"name": "a"}}}}}).check(t,
			`workers: p-a failed rules.yaml:11:66: rule "r": child "workers"[0]: metadata.name: child "workers"[1] of rule "r" has the same kind, namespace and name`,
			`workers: p-a failed rules.yaml:11:66: rule "r": child "workers"[1]: metadata.name: child "workers"[0] of rule "r" has the same kind, namespace and name`,
			"reader: reader waiting waits for workers (0 of 2 exist)", `status {"workers":0}`)
	})
	t.Run("leaves the other elements alone when one has an illegal name", func(t *testing.T) {
		(&scene{rule: workers, self: object{"spec": object{"workers": list{object{"name": "A_"}, object{"name": "b"}}}}}).check(t,
			`workers: failed rules.yaml:11:69: rule "r": child "workers"[0]: metadata.name: the name may contain only lower-case letters, digits, - and ., with a letter or digit at both ends`,
			"workers: p-b", "reader: reader waiting waits for workers (0 of 2 exist)", `status {"workers":0}`)
	})
	t.Run("has an end", func(t *testing.T) {
		many := make(list, 501)
		for i := range many {
			many[i] = object{"name": fmt.Sprint(i)}
		}
		(&scene{rule: workers, self: object{"spec": object{"workers": many}}}).check(t,
			`workers: failed rules.yaml:10:39: rule "r": child "workers": forEach: more than 500 objects for one resource; maxObjects of the child allows up to 5000`,
			"reader: reader waiting waits for workers (cannot be rendered)", `status {"workers":0}`)
	})
}

func TestForEachProduct(t *testing.T) {
	s := scene{self: object{"spec": object{"zones": list{object{"name": "x", "racks": list{"1", "2"}}, object{"name": "y", "racks": list{"3"}}}}}, rule: `
  children:
  - id: racks
    forEach: [{name: z, in: self.spec.zones}, {name: rack, in: z.racks}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${z.name}-${rack}"}}
`}
	s.check(t, "racks: x-1", "racks: x-2", "racks: y-3")
}

func TestForEachWaits(t *testing.T) {
	s := scene{rule: `
  children:
  - id: source
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: source}}
  - id: copies
    forEach: [{name: k, in: "source.data.keys.split(',')"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${k}"}}
`, observed: cluster{"ConfigMap source": exists(named("source"))}}
	s.check(t, "source: source exists", "copies: waiting source.data.keys")
}

const pods = `
  children:
  - id: pods
    replicas: self.spec.replicas
    onChange: keep
    template: {apiVersion: v1, kind: Pod, metadata: {generateName: "${self.metadata.name}-"}, spec: {containers: [{name: c, image: i}]}}
  status:
    names: "${existing(pods).map(p, p.metadata.name)}"
`

// podOf is a live Pod of the child.
func podOf(name, phase, created string) Live {
	ready := "False"
	if phase == "Running" {
		ready = "True"
	}
	return Live{Object: object{
		"metadata": object{"name": name, "namespace": "ns", "creationTimestamp": created},
		"status":   object{"phase": phase, "conditions": list{object{"type": "Ready", "status": ready}}},
	}}
}

func replicas(n any) object { return object{"spec": object{"replicas": n}} }

func TestReplicas(t *testing.T) {
	t.Run("have names that are the same each time", func(t *testing.T) {
		(&scene{rule: pods, self: replicas(int64(2))}).check(t, "pods: p-lrsfrfqq", "pods: p-6fgdvjkx", `status {"names":[]}`)
	})
	t.Run("take the lowest free number", func(t *testing.T) {
		s := scene{rule: pods, self: replicas(int64(3)), owned: []Live{podOf("p-6fgdvjkx", "Running", "1"), podOf("other", "Running", "1")}}
		s.check(t, "pods: other exists", "pods: p-6fgdvjkx exists", "pods: p-lrsfrfqq", `status {"names":["other","p-6fgdvjkx"]}`)
	})
	t.Run("do not count what has ended or is ending", func(t *testing.T) {
		ending := podOf("p-lrsfrfqq", "Running", "1")
		ending.Object["metadata"].(object)["deletionTimestamp"] = "2"
		gone := podOf("c", "Running", "1")
		gone.Deleted = true
		s := scene{rule: pods, self: replicas(int64(2)), owned: []Live{ending, gone, podOf("a", "Failed", "1"), podOf("b", "Succeeded", "2"), podOf("d", "Pending", "2")}}
		r := s.render(t)
		if diff := cmp.Diff([]string{"pods: d exists", "pods: p-6fgdvjkx", `status {"names":["d"]}`}, objects(r)); diff != "" {
			t.Error(diff)
		}
		if f := r.Children[0].Finished; len(f) != 2 || identityOf(f[0].Object).name != "b" {
			t.Errorf("finished, youngest first: %v", f)
		}
	})
	t.Run("are in the namespace that the rule says", func(t *testing.T) {
		forged := podOf("forged", "Running", "1")
		forged.Object["metadata"].(object)["namespace"] = "team-b"
		s := scene{rule: pods, self: replicas(int64(1)), owned: []Live{forged}}
		s.check(t, "pods: p-lrsfrfqq", `status {"names":[]}`)
	})
	t.Run("lose first what is not ready, then the youngest", func(t *testing.T) {
		s := scene{rule: pods, self: replicas(int64(2)), owned: []Live{
			podOf("old", "Running", "1"), podOf("young", "Running", "3"), podOf("pending", "Pending", "0"), podOf("middle", "Running", "2")}}
		s.check(t, "pods: middle exists", "pods: old exists", `status {"names":["middle","old"]}`)
	})
	for _, tc := range []struct {
		name string
		n    any
		want string
	}{
		{"cannot be negative", int64(-1), "must be at least 0 and at most 500"},
		{"have an end", int64(501), "must be at least 0 and at most 500; maxObjects of the child allows up to 5000"},
		{"are a number", "3", "must be a whole number, got string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := scene{rule: pods, self: replicas(tc.n), owned: []Live{podOf("a", "Running", "1")}}
			want := `rules.yaml:10:15: rule "r": child "pods": replicas: ` + tc.want
			s.check(t, "pods: a exists failed "+want, `status {"names":["a"]}`)
		})
	}
}

func TestListThatIsNotComplete(t *testing.T) {
	const rule = `
  children:
  - id: workers
    forEach: [{name: w, in: self.spec.workers}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${w}"}}
  - id: eachOf
    forEach: [{name: w, in: workers}]
    template: {apiVersion: v1, kind: Service, metadata: {name: "${w.metadata.name}"}}
  - id: some
    when: size(workers) > 1
    template: {apiVersion: v1, kind: Secret, metadata: {name: some}}
  - id: many
    replicas: size(workers)
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {generateName: m-}}
`
	s := scene{rule: rule, self: object{"spec": object{"workers": list{"a", "b"}}},
		observed: cluster{"ConfigMap a": exists(named("a")), "Service a": exists(named("a")), "Service b": exists(named("b")), "Secret some": exists(named("some"))}}
	const why = "workers (1 of 2 exist)"
	s.check(t, "workers: a exists", "workers: b", "eachOf: waiting "+why, "some: some exists waiting waits for "+why, "many: waiting "+why)
	s.observed["ConfigMap b"] = exists(named("b"))
	s.check(t, "workers: a exists", "workers: b exists", "eachOf: a exists", "eachOf: b exists", "some: some exists", "many: m-68khlp4d", "many: m-wzzgtx5s")
}

const settings = `
  lookups:
  - id: settings
    apiVersion: v1
    kind: ConfigMap
    name: ${self.spec.settings}
  - id: pods
    apiVersion: v1
    kind: Pod
    selector: {matchLabels: {app: "${self.metadata.name}"}}
  children:
  - id: web
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {color: "${settings.data.color}"}}
  status:
    pods: "${pods.map(p, p.metadata.name)}"
`

func TestLookups(t *testing.T) {
	spec := object{"spec": object{"settings": "s"}}
	s := scene{rule: settings, self: spec}
	s.check(t, "web: web waiting waits for ConfigMap/ns/s (settings)", `status {"pods":[]}`)
	if diff := cmp.Diff([]string{"ConfigMap ns=ns everywhere=false name=s selector=<nil>", "Pod ns=ns everywhere=false name= selector=app=p"}, s.asked); diff != "" {
		t.Error(diff)
	}
	s = scene{rule: settings, self: spec, lookup: map[string][]object{
		"ConfigMap": {{"metadata": object{"name": "s"}}},
		"Pod":       {{"metadata": object{"name": "a", "labels": object{"app": "p"}}}, {"metadata": object{"name": "b"}}},
	}}
	s.check(t, "web: web waiting waits for settings.data.color", `status {"pods":["a"]}`)
	s.lookup["ConfigMap"][0]["data"] = object{"color": "red"}
	if got := body(t, first(&s.render(t).Children[0])); !strings.Contains(got, `"color":"red"`) {
		t.Error(got)
	}
	s.self = nil
	s.check(t, `web: web failed rules.yaml:12:22: rule "r": child "web": data.color: lookups.settings: no such key: settings`, `status {"pods":["a"]}`)
}

// TestLookupSelectorText writes selectors as kubectl takes them, in the rules and in the resource.
func TestLookupSelectorText(t *testing.T) {
	const rule = `
  lookups:
  - id: pods
    apiVersion: v1
    kind: Pod
    selector: SELECTOR
  status:
    n: ${size(pods)}
`
	for text, want := range map[string]string{
		"a=b,c in (e, d),!f": "a in (b),c in (d,e),!f", `"a!=b,c"`: "a notin (b),c", "${self.spec.selector}": "a=b,c notin (d)",
		`${""}`: "", "${string(self.spec.nope)}": "", "${self.spec.bad}": "", `${"a>1"}`: "",
	} {
		s := scene{rule: strings.Replace(rule, "SELECTOR", text, 1),
			self: object{"spec": object{"selector": "a=b,c notin (d)", "bad": "a in"}}}
		switch {
		case strings.Contains(text, "bad") || strings.Contains(text, ">"):
			s.check(t, "status {}", `error rules.yaml:12:15: rule "r": status.n: lookups.pods: selector: is not a label selector such as app=web,tier in (a, b)`)
			continue
		case strings.Contains(text, "nope"):
			s.check(t, "status {}", `error rules.yaml:12:33: rule "r": status.n: lookups.pods: no such key: nope`)
			continue
		}
		s.check(t, `status {"n":0}`)
		if len(s.asked) != 1 || s.asked[0] != "Pod ns=ns everywhere=false name= selector="+want {
			t.Errorf("%s asks %s", text, s.asked)
		}
	}
}

func TestLookupSelector(t *testing.T) {
	const rule = `
  lookups:
  - id: pods
    apiVersion: v1
    kind: Pod
    selector: ${self.spec.selector}
  status:
    n: ${size(pods)}
`
	selector := object{"matchLabels": object{"a": "b"}, "matchExpressions": list{object{"key": "c", "operator": "Exists"}}}
	s := scene{rule: rule, self: object{"spec": object{"selector": selector}}}
	s.check(t, `status {"n":0}`)
	want, err := labels.Parse("a=b,c")
	if err != nil || len(s.asked) != 1 || s.asked[0] != fmt.Sprintf("Pod ns=ns everywhere=false name= selector=%v", want) {
		t.Error(s.asked)
	}
	(&scene{rule: rule, self: object{"spec": object{"selector": object{"app": "x"}}}}).check(t, "status {}",
		`error rules.yaml:12:15: rule "r": status.n: lookups.pods: selector: must be a label selector with matchLabels or matchExpressions, or a text such as app=web`)
}

func TestSelectorThatLacksAValue(t *testing.T) {
	for _, selector := range []string{`{matchLabels: {tier: "${self.spec.?tier}"}}`, `{matchLabels: "${self.spec.?tier}"}`, `"${self.spec.?tier}"`,
		`{matchExpressions: [{key: a, operator: In, values: ["${self.spec.?tier}"]}]}`} {
		s := scene{rule: "  lookups: [{id: pods, apiVersion: v1, kind: Pod, selector: " + selector + "}]\n  status: {n: \"${size(pods)}\"}\n"}
		got := objects(s.render(t))
		if len(got) != 2 || got[0] != "status {}" || !strings.Contains(got[1], "absent") || len(s.asked) > 0 {
			t.Errorf("%s selects too much: %v %v", selector, got, s.asked)
		}
	}
}

func TestPlainChildrenCountToo(t *testing.T) {
	var rule strings.Builder
	rule.WriteString("  children:\n")
	for i := range maxChildren + 1 {
		fmt.Fprintf(&rule, "  - {id: c%d, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}}\n", i, i)
	}
	r := (&scene{rule: rule.String()}).render(t)
	if c := &r.Children[maxChildren]; c.State != Failed || r.Children[maxChildren-1].State != Rendered || !strings.Contains(c.Err.Message, "more than 500 objects") {
		t.Errorf("%+v", c)
	}
}

func TestCheckThatSaysNoIsHeard(t *testing.T) {
	const rule = `
  validate:
  - {expression: self.spec.nope.x == 1}
  - {expression: has(self.spec.b), message: spec.b must be set}
  - {expression: self.spec.b.c == 1}
`
	(&scene{rule: rule}).check(t, "InvalidSpec: spec.b must be set")
}

func TestLookupNamespaces(t *testing.T) {
	rule := func(allow string) string {
		return `
  ` + allow + `
  lookups:
  - {id: all, apiVersion: v1, kind: ConfigMap, namespace: "", selector: {}}
  - {id: other, apiVersion: v1, kind: ConfigMap, namespace: "${self.spec.ns}", selector: {}}
  status: {all: "${size(all)}", other: "${size(other)}"}
`
	}
	spec := object{"spec": object{"ns": "team-a"}}
	(&scene{rule: rule("allow: {}"), self: spec}).check(t, "status {}",
		`error rules.yaml:10:59: rule "r": status.all: lookups.all: namespace: reading all namespaces needs allow.read.namespaces: ["*"]; `+
			`rules.yaml:11:61: rule "r": status.other: lookups.other: namespace: it is not the primary's namespace, and allow.read.namespaces does not include it`)
	(&scene{rule: rule("allow: {read: {namespaces: [team-*]}}"), self: spec}).check(t, `status {"other":0}`,
		`error rules.yaml:10:59: rule "r": status.all: lookups.all: namespace: reading all namespaces needs allow.read.namespaces: ["*"]`)
	(&scene{rule: rule(`allow: {read: {namespaces: ["*"]}}`), self: spec}).check(t, `status {"all":0,"other":0}`)
	(&scene{rule: rule("allow: {}"), self: object{"spec": object{"ns": "ns"}}}).check(t, `status {"other":0}`,
		`error rules.yaml:10:59: rule "r": status.all: lookups.all: namespace: reading all namespaces needs allow.read.namespaces: ["*"]`)
}
