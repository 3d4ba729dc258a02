package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/discover"
	"reconcel/rules"
)

// a looker looks up objects of one kind for one primary.
type looker struct {
	watch *Watch
	reads Reads
}

func newLooker(tb testing.TB, namespaced bool, objects ...*Object) *looker {
	tb.Helper()
	kind := discover.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Thing"}, Namespaced: namespaced}
	w := silent(Key{GVK: kind.GVK, Role: Lookup})
	f, err := NewFeed(w, kind, discover.Ownership{}, nil, func(func(*unstructured.Unstructured) error) (string, error) { return "1", nil })
	if err != nil {
		tb.Fatal(err)
	}
	for _, o := range objects {
		if err := f.store(o).Add(o); err != nil {
			tb.Fatal(err)
		}
	}
	return &looker{watch: w}
}

func (l *looker) lookup(q rules.Query) ([]map[string]any, error) {
	answer, err := l.watch.Lookup(&l.reads, primary("one"), q, nil)
	if err != nil {
		return nil, err
	}
	return answer.Objects()
}

func TestLookup(t *testing.T) {
	everything := labels.Everything()
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	things := []*Object{thing("b", "1", "app=web"), thing("a", "2", "app=web"), thing("a", "1", "app=api"), thing("c", "10", "app=web"), thing("c", "1", "app=web")}
	nodes := []*Object{thing("", "n2", ""), thing("", "n1", "app=web")}
	for _, test := range []struct {
		name       string
		namespaced bool
		objects    []*Object
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
			l := newLooker(t, test.namespaced, test.objects...)
			found, err := l.lookup(test.query)
			var got []string
			for _, o := range found {
				u := unstructured.Unstructured{Object: o}
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
		l := newLooker(t, true)
		l.watch.cache.Store(nil)
		if _, unknown := l.lookup(rules.Query{Namespace: "a", Name: "1"}); !errors.Is(unknown, ErrNotListed) {
			t.Errorf("error %v", unknown)
		}
	})
}

func TestLookupIsRemembered(t *testing.T) {
	l := newLooker(t, true)
	look := func(q rules.Query) {
		t.Helper()
		if _, err := l.lookup(q); err != nil {
			t.Fatal(err)
		}
	}
	look(rules.Query{Namespace: "a", Name: "missing"})
	look(rules.Query{Namespace: "ignored", Everywhere: true, Selector: labels.SelectorFromSet(labels.Set{"app": "web"})})
	in := &l.watch.readers
	for _, o := range []*Object{thing("a", "missing", ""), thing("b", "any", "app=web")} {
		if got := told(in, o); got != "one" {
			t.Errorf("%q is told of %s", got, o.GetName())
		}
	}
	if got := told(in, thing("a", "other", "")); got != "" {
		t.Errorf("%q is enqueued for an object that no primary reads", got)
	}
}

func TestUpdatesConcernBothStates(t *testing.T) {
	version := func(o *Object, v string) *Object {
		u := o.DeepCopy()
		u.SetResourceVersion(v)
		return NewObject(u, Lookup)
	}
	for _, test := range []struct {
		name     string
		old, now *Object
		want     string
	}{
		{"labels that stay", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=web"), "2"), "web"},
		{"labels that change", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=api"), "2"), "web api"},
		{"an object that was only listed again", version(thing("a", "x", "app=web"), "1"), version(thing("a", "x", "app=web"), "1"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen []string
			w := New(Key{Role: Lookup}, rules.VisibleToRules())
			w.Notify(func(o *Object) { seen = append(seen, o.GetLabels()["app"]) }, nil)
			w.changed(test.old, test.now)
			if got := strings.Join(seen, " "); got != test.want {
				t.Errorf("told of %q, want %q", got, test.want)
			}
		})
	}
}

// TestReplacedPrimaryIsReported has a repeated list in which a primary is another object of the same name.
func TestReplacedPrimaryIsReported(t *testing.T) {
	primary := func(uid string) *Object {
		u := thing("a", "x", "").DeepCopy()
		u.SetUID(types.UID(uid))
		return NewObject(u, Primary)
	}
	var seen []string
	w := New(Key{Role: Primary}, rules.VisibleToRules())
	w.Notify(func(o *Object) { seen = append(seen, string(o.GetUID())) }, nil)
	w.changed(primary("old"), primary("new"))
	if got := strings.Join(seen, " "); got != "old new" {
		t.Errorf("reported %q", got)
	}
}

// BenchmarkLookup is a pass that reads what the one before it has read.
func BenchmarkLookup(b *testing.B) {
	things := []*Object{thing("a", "settings", "")}
	for i := range 3 {
		things = append(things, thing("a", fmt.Sprint(i), "app=web"))
	}
	l := newLooker(b, true, things...)
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, q := range map[string]rules.Query{"name": {Namespace: "a", Name: "settings"}, "list": {Namespace: "a", Selector: selector}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found, err := l.lookup(q)
				if err != nil || len(found) == 0 {
					b.Fatal(found, err)
				}
				l.reads.Retain()
			}
		})
	}
}
