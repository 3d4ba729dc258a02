package watch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// thing returns an object in a namespace, or with "" a cluster-scoped one,
// with labels such as app=web,tier=front.
func thing(namespace, name, set string) *Object {
	found := map[string]any{}
	if set != "" {
		for pair := range strings.SplitSeq(set, ",") {
			key, value, _ := strings.Cut(pair, "=")
			found[key] = value
		}
	}
	metadata := map[string]any{"name": name, "labels": found}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return NewObject(&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}, Lookup)
}

func primary(name string) rules.Owner { return rules.Owner{Name: name, UID: types.UID(name)} }

func byName(namespace, name string) query { return query{namespace: namespace, name: name} }

func bySelector(tb testing.TB, namespace, selector string) query {
	tb.Helper()
	s, err := labels.Parse(selector)
	if err != nil {
		tb.Fatal(err)
	}
	return query{namespace: namespace, selector: s}
}

// told returns the names of those who are told of an object, sorted.
func told(in *readers, o *Object) string {
	var names []string
	in.each(o, func(r rules.Owner) { names = append(names, r.Name) })
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func TestReaders(t *testing.T) {
	in := &readers{}
	var all []*Reads
	note := func(who string, queries ...query) {
		rs := &Reads{}
		for _, q := range queries {
			rs.register(in, primary(who), q)
		}
		all = append(all, rs)
	}
	note("named", byName("a", "x"))
	note("both", byName("a", "x"), byName("b", "x"))
	note("global", byName("", "x"))
	note("web", bySelector(t, "a", "app=web"))
	note("front", bySelector(t, "a", "app=web,tier in (front)"))
	note("either", bySelector(t, "a", "app in (web, api)"))
	note("not", bySelector(t, "a", "app!=web"))
	note("everywhere", bySelector(t, "", "app=web"))
	note("all", bySelector(t, "", ""))

	for _, test := range []struct {
		object *Object
		want   string
	}{
		{thing("a", "x", ""), "all both named not"},
		{thing("b", "x", ""), "all both"},
		{thing("c", "x", ""), "all"},
		{thing("", "x", ""), "all global"},
		{thing("", "y", "app=web"), "all everywhere"},
		{thing("a", "y", "app=web"), "all either everywhere web"},
		{thing("a", "y", "app=web,tier=front"), "all either everywhere front web"},
		{thing("a", "y", "app=api"), "all either not"},
		{thing("b", "y", "app=web,tier=front"), "all everywhere"},
	} {
		t.Run(fmt.Sprintf("%s/%s %v", test.object.GetNamespace(), test.object.GetName(), test.object.GetLabels()), func(t *testing.T) {
			if got := told(in, test.object); got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
	for _, rs := range all {
		rs.End()
	}
	if len(in.reads) > 0 {
		t.Errorf("left behind: %v", in.reads)
	}
}

func TestReadersFollowReconciliations(t *testing.T) {
	in, other := &readers{}, &readers{}
	var rs Reads
	pass := func(queries ...query) {
		for _, q := range queries {
			rs.register(in, primary("one"), q)
		}
		rs.Retain()
	}
	pass(byName("a", "x"), bySelector(t, "a", "app=web"))
	pass(byName("a", "y"), bySelector(t, "a", "app=api"))
	for _, gone := range []*Object{thing("a", "x", ""), thing("a", "z", "app=web")} {
		if got := told(in, gone); got != "" {
			t.Errorf("%q is told of %s, which it does not read any more", got, gone.GetName())
		}
	}
	for _, read := range []*Object{thing("a", "y", ""), thing("a", "z", "app=api")} {
		if got := told(in, read); got != "one" {
			t.Errorf("%q is told of %s", got, read.GetName())
		}
	}
	before := slices.Clone(rs)
	pass(bySelector(t, "a", "app=api"), byName("a", "y"), byName("a", "y"))
	if !slices.Equal(before, rs) {
		t.Errorf("the same queries made other interests: %v, then %v", before, rs)
	}
	rs.register(other, primary("one"), byName("a", "y"))
	if got := told(other, thing("a", "y", "")); got != "one" {
		t.Errorf("%q is told of the same name of another kind", got)
	}
	rs.Retain() // That was a pass as well.
	pass()
	if len(rs) > 0 || len(in.reads) > 0 {
		t.Errorf("left behind: %v, %v", rs, in.reads)
	}
}

// TestReadersOfManyPrimaries has many primaries change what they read while objects
// change: at the end everyone is told of what it read last, and of nothing
// else.
func TestReadersOfManyPrimaries(t *testing.T) {
	const primaries, passes, names = 20, 200, 5
	in := &readers{}
	all := make([]Reads, primaries)
	selectors := make([]query, names)
	for i := range selectors {
		selectors[i] = bySelector(t, "a", fmt.Sprintf("app=app-%d", i))
	}
	var working, watching sync.WaitGroup
	done := make(chan struct{})
	watching.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				in.each(thing("a", fmt.Sprintf("name-%d", i%names), fmt.Sprintf("app=app-%d", i%names)), func(rules.Owner) {})
			}
		}
	})
	for p := range primaries {
		working.Go(func() {
			for pass := range passes {
				n := (p + pass) % names
				all[p].register(in, primary(fmt.Sprint(p)), byName("a", fmt.Sprintf("name-%d", n)))
				all[p].register(in, primary(fmt.Sprint(p)), selectors[n])
				all[p].Retain()
			}
		})
	}
	working.Wait()
	close(done)
	watching.Wait()

	for n := range names {
		var want []string
		for p := range primaries {
			if (p+passes-1)%names == n {
				want = append(want, fmt.Sprint(p))
			}
		}
		slices.Sort(want)
		for _, o := range []*Object{thing("a", fmt.Sprintf("name-%d", n), ""), thing("a", "other", fmt.Sprintf("app=app-%d", n))} {
			if got := told(in, o); got != strings.Join(want, " ") {
				t.Errorf("%s %v: told %q, want %q", o.GetName(), o.GetLabels(), got, want)
			}
		}
	}
}
