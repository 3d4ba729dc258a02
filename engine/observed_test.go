package engine

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/reconcile"
	"reconcel/engine/watch"
	"reconcel/rules"
)

func TestOwnedObjects(t *testing.T) {
	rule, child := &rules.Rule{Name: "r"}, &rules.Child{ID: "web", GVK: deployment}
	replica := func(name, version, marks string) *unstructured.Unstructured {
		return decode(t, fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"namespace":"default","uid":"uid-%s","resourceVersion":%q,`+
			`"labels":{"reconcel.dev/rule":"r","reconcel.dev/child":%q},"ownerReferences":[{"controller":true,"kind":"Foo","name":"example","uid":"u1"}]}}`, name, name, version, marks))
	}
	id := func(name string) rules.Identity {
		return rules.Identity{GVK: deployment, Namespace: "default", Name: name}
	}
	names := func(p *reconcile.Pass) (all, deleted []string) {
		owned, err := p.View.Owned(rule, child)
		if err != nil {
			t.Fatal(err)
		}
		for _, live := range owned {
			name := live.Object["metadata"].(map[string]any)["name"].(string)
			all = append(all, name)
			if live.Deleted {
				deleted = append(deleted, name)
			}
		}
		slices.Sort(all)
		return all, deleted
	}
	expect := func(p *reconcile.Pass, all, deleted []string) {
		t.Helper()
		gotAll, gotDeleted := names(p)
		if !slices.Equal(gotAll, all) || !slices.Equal(gotDeleted, deleted) {
			t.Errorf("all are %v, of which %v are deleted; want %v and %v", gotAll, gotDeleted, all, deleted)
		}
	}
	p, f := cacheWith(t)
	p.Req = ident.Request{Kind: schema.GroupKind{Kind: "Foo"}, Namespace: "default", Name: "example", UID: "u1"}
	p.Rendering = &rules.Rendering{}
	w := p.Primary.Children[deployment]
	p.Primary.ByRule = map[*rules.Rule][]*watch.Watch{rule: {w}}
	add := func(u *unstructured.Unstructured) { observe(t, f, nil, u) }
	add(replica("seen", "5", "web"))
	add(replica("other", "5", "another child"))
	expect(p, []string{"seen"}, nil)

	made := p.Memory.Child(id("made"))
	made.Version, made.Object = "7", watch.NewObject(replica("made", "7", "web"), watch.Child)
	expect(p, []string{"made", "seen"}, nil)
	p.View.Forget()
	expect(p, []string{"made", "seen"}, nil)

	p.Memory.NoteDeletion("uid-made", access.Deletion{Identity: id("made"), Version: "8"})
	p.View.Forget()
	expect(p, []string{"made", "seen"}, []string{"made"})
	add(replica("made", "7", "web"))
	p.View.Forget()
	expect(p, []string{"made", "seen"}, []string{"made"})
	observe(t, f, replica("made", "9", "web"), nil)
	add(replica("late", "10", "web"))
	p.View.Forget()
	expect(p, []string{"late", "seen"}, nil)
	if len(p.Memory.Deleted) > 0 || len(p.Memory.Children) > 0 {
		t.Errorf("still remembered: %v, %v", p.Memory.Deleted, p.Memory.Children)
	}
}

func TestMemoryOfManyChildren(t *testing.T) {
	m := &access.Memory{}
	id := func(i int) rules.Identity { return rules.Identity{Name: fmt.Sprint(i)} }
	for i := range 3 * access.Few {
		m.Child(id(i)).UID = types.UID(fmt.Sprint(i))
	}
	for _, keep := range []int{3 * access.Few, access.Few + 1, access.Few, 1, 0} {
		m.Retain(func(w *access.Written) bool {
			i, err := strconv.Atoi(w.Identity.Name)
			return err == nil && i < keep
		})
		for i := range 3 * access.Few {
			w := m.Find(id(i))
			if (w != nil) != (i < keep) || w != nil && string(w.UID) != w.Identity.Name {
				t.Fatalf("of %d, child %d is %v", keep, i, w)
			}
		}
	}
}
