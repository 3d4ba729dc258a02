package rules

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything is a rule that uses the whole language.
const everything = `
- name: r
  for: {apiVersion: example.com/v1, kind: Primary, when: has(self.spec)}
  let:
    labels: {app: shop, owner: "${self.metadata.name}", m: "${self.spec.map}"}
    entries: self.spec.map.map(k, k + self.spec.map[k])
    merged: 'deepMerge(self.spec.map, {"z": {"y": 1}, "x": 2})'
  validate:
  - expression: self.spec.map.all(k, k != "")
  children:
  - id: b
    after: [a]
    when: self.spec.on
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "b-${self.metadata.name}", labels: "${self.spec.map}", annotations: "${self.spec.map}"}
      data: {all: "${json.marshal(merged)}", entries: "${entries.join(',')}", yaml: "${yaml.marshal(labels)}", n: "x${self.spec.replicas}"}
  - id: a
    readyWhen: child.data.x == "1"
    template: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: "${self.spec.map}"}
  - id: c
    template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: c}, spec: "${{'m': merged, 'l': labels, 'a': a.?data.orValue({})}}"}
  - id: d
    template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: d}, spec: "${a.data.nope + c.spec.nope + b.nope}"}
  status: {entries: "${entries}", merged: "${merged}", waits: "${a.data.nope}"}
  conditions:
  - {type: Up, when: 'a.data.nope == c.spec.nope', message: "${entries[0]}"}
  - {type: Bad, when: self.spec.nope}
`

// seen prints the whole result of a rendering.
func seen(out *Rendering) []string {
	var lines []string
	for i := range out.Rules {
		lines = append(lines, outline(&out.Rules[i])...)
		for j := range out.Rules[i].Children {
			objects := out.Rules[i].Children[j].Objects
			for k := range objects {
				d := &objects[k]
				lines = append(lines, d.HashString(), string(d.body), fmt.Sprint(d.Identity, d.State, d.Readiness, d.Reason, d.Waits, d.Available))
				if d.State == Rendered {
					lines = append(lines, string(d.AppendApply(nil, "u", "1")))
				}
			}
		}
		lines = append(lines, string(out.Rules[i].Patch))
	}
	return lines
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	var first []string
	c := cluster{"Secret a": exists(object{"data": object{"x": "1"}})}
	for range 20 {
		p := mustLoad(t, everything)
		var out Rendering
		for range 5 {
			p.Primaries()[0].Render(Input{Self: primary(), Observed: c.observed}, &out)
			got := seen(&out)
			if first == nil {
				first = got
			}
			if diff := cmp.Diff(first, got); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

func TestRenderingsAreIndependent(t *testing.T) {
	p := mustLoad(t, everything+fooRule[1:])
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			var out Rendering
			for i := range 50 {
				self := primary()
				name := fmt.Sprintf("p%d-%d", worker, i)
				self["metadata"].(object)["name"] = name
				if i%3 == 0 {
					delete(self["spec"].(object), "map") // It fails, and must leave no state behind.
				}
				p.Primaries()[0].Render(Input{Self: self}, &out)
				r := &out.Rules[0]
				if failed := r.Err != nil; failed != (i%3 == 0) {
					t.Errorf("%s: %v", name, r.Err)
				}
				if r.Err == nil && first(&r.Children[1]).Identity.Name != "b-"+name {
					t.Errorf("%s: %+v", name, first(&r.Children[1]).Identity)
				}
			}
		})
	}
	wg.Wait()
}

// TestSelfIsNotWritten renders with an object that the engine's cache shares.
func TestSelfIsNotWritten(t *testing.T) {
	self := primary()
	render(mustLoad(t, everything), self, cluster{"Secret a": exists(object{"data": object{"x": "1"}})})
	if diff := cmp.Diff(primary(), self); diff != "" {
		t.Error(diff)
	}
}

func TestObject(t *testing.T) {
	r := one(t, everything, primary(), nil)
	for i := range r.Children {
		d := first(&r.Children[i])
		o, err := d.Object()
		if (err == nil) != (d.State == Rendered) {
			t.Errorf("%s: %v", d.Child.ID, err)
		}
		if d.State != Rendered {
			continue
		}
		if kind := o["kind"]; kind != d.Child.GVK.Kind {
			t.Error(kind)
		}
		if _, ok := o["metadata"].(object)["annotations"]; ok != (d.Child.ID == "b") {
			t.Error(o)
		}
	}
}

func TestAPanicStaysInItsRule(t *testing.T) {
	p := mustLoad(t, everything)
	var out Rendering
	p.Primaries()[0].Render(Input{Self: primary(), Observed: func(Identity) Live { panic("secret") }}, &out)
	r := &out.Rules[0]
	if r.Err == nil || len(r.Children) > 0 || len(r.Status) > 0 || r.Err.Message != `rules.yaml:4:3: rule "r": internal error while rendering (string)` {
		t.Errorf("%+v", r)
	}
}
