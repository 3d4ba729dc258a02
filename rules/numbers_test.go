package rules

import (
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/kstatus"
	"reconcel/rules/schema"
)

// TestNumbersAreDoublesEverywhere divides two whole numbers, which is 0 for integers, in everything that expressions read.
func TestNumbersAreDoublesEverywhere(t *testing.T) {
	numbers := &schema.Numbers{Fields: map[string]*schema.Numbers{"spec": {Fields: map[string]*schema.Numbers{"n": {Is: true}, "ns": {Each: &schema.Numbers{Is: true}}}}}}
	meter, primary := runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Meter"}, runtimeschema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Web"}
	p := mustLoad(t, `
- name: web
  for: {apiVersion: example.com/v1, kind: Web, when: self.spec.n / 2.0 == 0.5}
  let: {half: "self.spec.n / self.spec.ns[0]"}
  lookups:
  - {id: one, apiVersion: example.com/v1, kind: Meter, name: one}
  - {id: named, apiVersion: example.com/v1, kind: Meter, names: [one]}
  - {id: all, apiVersion: example.com/v1, kind: Meter, selector: {}}
  children:
  - id: single
    template: {apiVersion: example.com/v1, kind: Meter, metadata: {name: single}}
    readyWhen: child.spec.n / self.spec.ns[0] == 0.5
  - id: many
    forEach: {w: self.spec.ns}
    template: {apiVersion: example.com/v1, kind: Meter, metadata: {name: "each-${string(w)}"}, spec: {n: "${w / self.spec.ns[0]}"}}
  - id: copies
    onChange: replace
    replicas: dyn(self.spec.ns[0])
    template: {apiVersion: v1, kind: Pod, metadata: {generateName: pod-}}
  status:
    self: ${half}
    single: ${single.spec.n / self.spec.ns[0]}
    each: ${many.map(e, e.spec.n / self.spec.ns[0])}
    byKey: ${byKey(many)["2"].spec.n / self.spec.ns[0]}
    previous: ${previous(many).map(e, e.spec.n / self.spec.ns[0])}
    one: ${one.spec.n / self.spec.ns[0]}
    named: ${named[0].spec.n / self.spec.ns[0]}
    all: ${all[0].spec.n / self.spec.ns[0]}
    whole: ${self.spec}
`)
	live := func(name string) object {
		return object{"apiVersion": "example.com/v1", "kind": "Meter", "metadata": object{"name": name}, "spec": object{"n": int64(1)}}
	}
	each := []Live{exists(live("each-2"))}
	var out Rendering
	p.Primaries()[0].Render(Input{
		Self:     object{"metadata": object{"name": "web", "namespace": "default", "uid": "u"}, "spec": object{"n": int64(1), "ns": list{int64(2)}}},
		Numbers:  schema.NumberFields{meter: numbers, primary: numbers},
		Observed: cluster{"Meter single": exists(live("single")), "Meter each-2": each[0]}.observed,
		Owned: func(_ *Rule, c *Child) ([]Live, error) {
			if c.ID == "many" {
				return each, nil
			}
			return nil, nil
		},
		Lookup: func(*Lookup, Query) ([]map[string]any, error) { return []map[string]any{live("one")}, nil },
	}, &out)
	r := &out.Rules[0]
	if r.Err != nil || r.StatusErr != nil {
		t.Fatal(r.Err, r.StatusErr)
	}
	const want = `{"all":0.5,"byKey":0.5,"each":[0.5],"named":0.5,"one":0.5,"previous":[0.5],"self":0.5,"single":0.5,"whole":{"n":1,"ns":[2]}}`
	if got := string(r.Status); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for i := range r.Children {
		switch c := &r.Children[i]; c.Child.ID {
		case "single":
			if is := c.Objects[0].Readiness; is != kstatus.Ready {
				t.Errorf("single is %v: %s", is, c.Objects[0].Reason)
			}
		case "copies":
			if len(c.Objects) != 2 {
				t.Errorf("%d copies", len(c.Objects))
			}
		}
	}
}
