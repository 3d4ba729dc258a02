package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"reconcel/engine/inventory"
	"reconcel/rules"
	"reconcel/rules/source"
)

// lookupPass returns a pass with one lookup of a kind that has some objects.
func lookupPass(tb testing.TB, namespaced bool, objects ...*object) (*pass, *rules.Lookup) {
	tb.Helper()
	w := &watch{key: watchKey{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Thing"}, role: lookupRole}}
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, w.indexers())
	for _, o := range objects {
		if err := store.Add(o); err != nil {
			tb.Fatal(err)
		}
	}
	w.cached.Store(&cached{kind: Kind{GVK: w.key.gvk, Namespaced: namespaced}, parts: []*part{newFilledPart("", store)}})
	l := &rules.Lookup{ID: "things", GVK: w.key.gvk}
	return &pass{memory: &memory{}, req: reader("one"), primary: &primaryKind{lookups: map[*rules.Lookup]*watch{l: w}}}, l
}

func TestLookup(t *testing.T) {
	everything := labels.Everything()
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	things := []*object{thing("b", "1", "app=web"), thing("a", "2", "app=web"), thing("a", "1", "app=api"), thing("c", "10", "app=web"), thing("c", "1", "app=web")}
	nodes := []*object{thing("", "n2", ""), thing("", "n1", "app=web")}
	for _, test := range []struct {
		name       string
		namespaced bool
		objects    []*object
		query      rules.Query
		want       string
	}{
		{"one object", true, things, rules.Query{Namespace: "a", Name: "1"}, "a/1"},
		{"one that does not exist", true, things, rules.Query{Namespace: "a", Name: "3"}, ""},
		{"one of another namespace", true, things, rules.Query{Namespace: "b", Name: "2"}, ""},
		{"a list in a namespace", true, things, rules.Query{Namespace: "c", Selector: web}, "c/1 c/10"},
		{"a list everywhere", true, things, rules.Query{Namespace: "", Everywhere: true, Selector: web}, "a/2 b/1 c/1 c/10"},
		{"everything in a namespace", true, things, rules.Query{Namespace: "a", Selector: everything}, "a/1 a/2"},
		{"nothing", true, things, rules.Query{Namespace: "d", Selector: everything}, ""},
		{"a cluster-scoped object, for a namespaced resource", false, nodes, rules.Query{Namespace: "a", Name: "n1"}, "/n1"},
		{"a list of cluster-scoped objects", false, nodes, rules.Query{Namespace: "a", Selector: everything}, "/n1 /n2"},
		{"a list of some cluster-scoped objects", false, nodes, rules.Query{Everywhere: true, Selector: web}, "/n1"},
		{"no namespace", true, things, rules.Query{Name: "1"}, "error: namespace is missing: Thing is namespaced and the resource is not"},
		{"no namespace for a list", true, things, rules.Query{Selector: web}, "error: namespace is missing: Thing is namespaced and the resource is not"},
		{"a name in all namespaces", true, things, rules.Query{Everywhere: true, Name: "1"},
			"error: namespace is empty: Thing is namespaced, so a lookup by name needs a namespace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, l := lookupPass(t, test.namespaced, test.objects...)
			found, err := p.lookup(l, test.query)
			var got []string
			for _, o := range found {
				u := object{}
				u.Object = o
				got = append(got, u.GetNamespace()+"/"+u.GetName())
			}
			if err != nil {
				got = []string{"error: " + err.Error()}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	t.Run("a kind without a cache", func(t *testing.T) {
		p, l := lookupPass(t, true)
		p.primary.lookups[l].cached.Store(nil)
		if _, err := p.lookup(l, rules.Query{Namespace: "a", Name: "1"}); !errors.Is(err, rules.ErrUnwatched) {
			t.Errorf("error %v", err)
		}
	})
}

func TestLookupIsRemembered(t *testing.T) {
	p, l := lookupPass(t, true)
	look := func(q rules.Query) {
		t.Helper()
		if _, err := p.lookup(l, q); err != nil {
			t.Fatal(err)
		}
	}
	look(rules.Query{Namespace: "a", Name: "missing"})
	look(rules.Query{Namespace: "ignored", Everywhere: true, Selector: labels.SelectorFromSet(labels.Set{"app": "web"})})
	in := &p.primary.lookups[l].interests
	for _, o := range []*object{thing("a", "missing", ""), thing("b", "any", "app=web")} {
		if got := told(in, o); got != "one" {
			t.Errorf("%q is told of %s", got, o.GetName())
		}
	}
	if got := told(in, thing("a", "other", "")); got != "" {
		t.Errorf("%q is told of an object that nobody reads", got)
	}
}

func TestUpdatesConcernBothStates(t *testing.T) {
	version := func(o *object, v string) *object { o.SetResourceVersion(v); return o }
	for _, test := range []struct {
		name     string
		old, now *object
		want     string
	}{
		{"labels that stay", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=web"), "2"), "web"},
		{"labels that change", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=api"), "2"), "web api"},
		{"an object that was only listed again", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=web"), "1"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen []string
			w := &watch{key: watchKey{role: lookupRole}, onEvent: func(o *object) { seen = append(seen, o.GetLabels()["app"]) }}
			w.update(test.old, test.now)
			if got := strings.Join(seen, " "); got != test.want {
				t.Errorf("told of %q, want %q", got, test.want)
			}
		})
	}
}

// BenchmarkLookup is a pass that reads what the one before it has read.
func BenchmarkLookup(b *testing.B) {
	things := []*object{thing("a", "settings", "")}
	for i := range 3 {
		things = append(things, thing("a", fmt.Sprint(i), "app=web"))
	}
	p, l := lookupPass(b, true, things...)
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, q := range map[string]rules.Query{"name": {Namespace: "a", Name: "settings"}, "list": {Namespace: "a", Selector: selector}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := p.lookup(l, q)
				if err != nil || len(found) == 0 {
					b.Fatal(found, err)
				}
				p.memory.reads.retain()
			}
		})
	}
}

const lookupRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: reads
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${self.spec.settings}"}
  - {id: more, apiVersion: v1, kind: ConfigMap, name: "${self.spec.more}"}
  - {id: pods, apiVersion: v1, kind: Pod, selector: {}}
  children:
  - id: copy
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {color: "${settings.data.color}"}}
- name: writes
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {color: blue}}
- name: elsewhere
  for: {apiVersion: v1, kind: Namespace}
  children:
  - id: other
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {color: blue}}
`

func TestPlanOfLookups(t *testing.T) {
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(lookupRules)}})
	if err != nil {
		t.Fatal(err)
	}
	pl := newPlan(program, inventory.Orphaned{}, nil)
	widgets := pl.primaries[schema.GroupKind{Group: "test.reconcel.dev", Kind: "Widget"}]
	namespaces := pl.primaries[schema.GroupKind{Kind: "Namespace"}]
	reads, writes := widgets.Rules[0], widgets.Rules[1]
	configs, pods := widgets.lookups[reads.Lookups[0]], widgets.lookups[reads.Lookups[2]]

	if widgets.lookups[reads.Lookups[1]] != configs {
		t.Error("two lookups of one kind do not share their watch")
	}
	if configs == widgets.children[configs.key.gvk] || configs.key.selector != "" {
		t.Errorf("children are not told from what is looked up, by %v", configs.key)
	}
	for _, w := range widgets.watchesOf(reads) {
		if w.key.role == lookupRole {
			t.Errorf("%v is among what is pruned", w.key)
		}
	}
	if !widgets.uses(pods) || namespaces.uses(pods) {
		t.Error("not exactly the primaries of the rule with the lookup are asked for when its kind becomes known")
	}

	for _, w := range pl.watches {
		if w != pods {
			w.cached.Store(&cached{})
		}
	}
	forbidden := errors.New("pods is forbidden")
	pods.problem.Store(&forbidden)
	for _, test := range []struct {
		result rules.RuleResult
		want   string
	}{
		{rules.RuleResult{Rule: reads}, "Pod: pods is forbidden"},
		{rules.RuleResult{Rule: reads, Leaving: true}, ": "},
		{rules.RuleResult{Rule: writes}, ": "},
	} {
		kind, why := widgets.unwatched(&test.result, "default")
		if got := kind + ": " + why; got != test.want {
			t.Errorf("rule %s, leaving %t: it waits for %q, want %q", test.result.Rule.Name, test.result.Leaving, got, test.want)
		}
	}
}
