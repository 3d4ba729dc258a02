package plan

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// Spared is the number of deletions that a percentage always allows: it must not make small
// changes tedious.
const Spared = 10

// A DeletionCount is what a changed version of a rule would delete or replace at once.
type DeletionCount struct {
	Objects  int // that the rule has now
	Deleted  int
	Replaced int
	first    []string // of the deleted and replaced ones, by name
	Unlisted error    // why some objects of the rule are not known
	shared   map[ObjectKey]*shared
}

// A shared object has several owners.
type shared struct {
	owners int
	left   map[types.UID]bool // owners that no longer want it
}

// Has counts an object of the rule. Each of its owners may count it.
func (t *DeletionCount) Has(id rules.Identity, o *watch.Object) {
	if key, owners := KeyOf(id), len(o.Shares()); owners > 1 {
		if t.shared[key] != nil {
			return
		}
		if t.shared == nil {
			t.shared = map[ObjectKey]*shared{}
		}
		t.shared[key] = &shared{owners, map[types.UID]bool{}}
	}
	t.Objects++
}

// Leaves counts that an owner no longer wants an object, which Has has counted. The last one deletes it.
func (t *DeletionCount) Leaves(id rules.Identity, owner types.UID) {
	if s := t.shared[KeyOf(id)]; s != nil {
		if s.left[owner] = true; len(s.left) < s.owners {
			return
		}
	}
	t.Take(id, &t.Deleted)
}

// firstOf is how many objects a message names.
const firstOf = 3

// Take counts a deletion or a replacement, and keeps the first names.
func (t *DeletionCount) Take(id rules.Identity, count *int) {
	*count++
	name := id.String()
	at, _ := slices.BinarySearch(t.first, name)
	if t.first = slices.Insert(t.first, at, name); len(t.first) > firstOf {
		t.first = t.first[:firstOf]
	}
}

// Doing says what happens to how many objects.
func (t *DeletionCount) Doing() string {
	switch {
	case t.Replaced == 0:
		return fmt.Sprintf("delete %d", t.Deleted)
	case t.Deleted == 0:
		return fmt.Sprintf("replace %d", t.Replaced)
	}
	return fmt.Sprintf("delete %d and replace %d", t.Deleted, t.Replaced)
}

// Named returns the first names, and how many more there are.
func (t *DeletionCount) Named() string {
	names := strings.Join(t.first, ", ")
	if more := t.Deleted + t.Replaced - len(t.first); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// An ObjectKey identifies an object independently of the version of its kind.
type ObjectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// KeyOf returns the key of an object.
func KeyOf(id rules.Identity) ObjectKey {
	return ObjectKey{id.GVK.GroupKind(), id.Namespace, id.Name}
}

// RendersObject reports whether a rule renders an object.
func RendersObject(r *rules.RuleResult, id rules.Identity) bool {
	for i := range r.Children {
		if WantsObject(&r.Children[i], id) {
			return true
		}
	}
	return false
}

// WantsObject reports whether a child wants an object.
func WantsObject(c *rules.ChildResult, id rules.Identity) bool {
	key := KeyOf(id)
	for other := range WantedOf(c) {
		if KeyOf(other) == key {
			return true
		}
	}
	return false
}

// WantedOf returns the objects of a child that must exist or be kept.
func WantedOf(c *rules.ChildResult) iter.Seq[rules.Identity] {
	return func(yield func(rules.Identity) bool) {
		for i := range c.Objects {
			if d := &c.Objects[i]; d.State != rules.Excluded && !yield(d.Identity) {
				return
			}
		}
		for i := range min(len(c.Finished), MostFinished) {
			u := unstructured.Unstructured{Object: c.Finished[i].Object}
			if !yield(rules.Identity{GVK: c.Child.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}) {
				return
			}
		}
	}
}
