package engine

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	names := func(p *pass) (all, deleted []string) {
		owned, err := p.owned(rule, child)
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
	expect := func(p *pass, all, deleted []string) {
		t.Helper()
		gotAll, gotDeleted := names(p)
		if !slices.Equal(gotAll, all) || !slices.Equal(gotDeleted, deleted) {
			t.Errorf("all are %v, of which %v are deleted; want %v and %v", gotAll, gotDeleted, all, deleted)
		}
	}
	p, f := cacheWith(t)
	p.req = Request{Kind: schema.GroupKind{Kind: "Foo"}, Namespace: "default", Name: "example", UID: "u1"}
	p.rendering = &rules.Rendering{}
	w := p.primary.children[deployment]
	p.primary.byRule = map[*rules.Rule][]*watch.Watch{rule: {w}}
	add := func(u *unstructured.Unstructured) { observe(t, f, nil, u) }
	add(replica("seen", "5", "web"))
	add(replica("other", "5", "another child"))
	expect(p, []string{"seen"}, nil)

	made := p.memory.child(id("made"))
	made.version, made.object = "7", watch.NewObject(replica("made", "7", "web"), watch.Child)
	expect(p, []string{"made", "seen"}, nil)
	p.forget()
	expect(p, []string{"made", "seen"}, nil)

	p.memory.noteDeletion("uid-made", deletion{identity: id("made"), version: "8"})
	p.forget()
	expect(p, []string{"made", "seen"}, []string{"made"})
	add(replica("made", "7", "web"))
	p.forget()
	expect(p, []string{"made", "seen"}, []string{"made"})
	observe(t, f, replica("made", "9", "web"), nil)
	add(replica("late", "10", "web"))
	p.forget()
	expect(p, []string{"late", "seen"}, nil)
	if len(p.memory.deleted) > 0 || len(p.memory.children) > 0 {
		t.Errorf("still remembered: %v, %v", p.memory.deleted, p.memory.children)
	}
}

func TestMemoryOfManyChildren(t *testing.T) {
	m := &memory{}
	id := func(i int) rules.Identity { return rules.Identity{Name: fmt.Sprint(i)} }
	for i := range 3 * few {
		m.child(id(i)).uid = types.UID(fmt.Sprint(i))
	}
	for _, keep := range []int{3 * few, few + 1, few, 1, 0} {
		m.retain(func(w *written) bool {
			i, err := strconv.Atoi(w.identity.Name)
			return err == nil && i < keep
		})
		for i := range 3 * few {
			w := m.find(id(i))
			if (w != nil) != (i < keep) || w != nil && string(w.uid) != w.identity.Name {
				t.Fatalf("of %d, child %d is %v", keep, i, w)
			}
		}
	}
}
