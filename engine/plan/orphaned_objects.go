package plan

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/ident"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An OrphanedObject is an object, or a patch, that a removed rule has left
// behind for a primary of other rules. One of those rules may render it now.
// Only a reconciliation of the primary can tell, so that is where it is pruned.
type OrphanedObject struct {
	Rule   *rules.Rule // has only its name and the ServiceAccount to impersonate
	Kind   ident.Kind
	Object *watch.Object // nil: the rule's patch of the primary
	why    string        // why the last reconciliation kept it
}

// OrphanedObjects are the orphaned objects of the primaries of one kind.
type orphanedObjects struct {
	mu sync.Mutex
	of map[ident.Request]map[orphanedKey]OrphanedObject
}

type orphanedKey struct {
	rule string
	uid  types.UID // "": the patch
}

func (l *OrphanedObject) key() orphanedKey {
	if l.Object == nil {
		return orphanedKey{rule: l.Rule.Name}
	}
	return orphanedKey{l.Rule.Name, l.Object.GetUID()}
}

// Add hands an orphaned object to the next reconciliation of a primary. It
// returns why the last reconciliation kept the object, or "".
func (ls *orphanedObjects) Add(req ident.Request, l OrphanedObject) (why string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.of == nil {
		ls.of = map[ident.Request]map[orphanedKey]OrphanedObject{}
	}
	if ls.of[req] == nil {
		ls.of[req] = map[orphanedKey]OrphanedObject{}
	}
	l.why = ls.of[req][l.key()].why
	ls.of[req][l.key()] = l
	return l.why
}

// Why returns why the last reconciliation of a primary kept an orphaned object, or "".
func (ls *orphanedObjects) Why(req ident.Request, l OrphanedObject) string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.of[req][l.key()].why
}

// List returns the orphaned objects of a primary, in no order.
func (ls *orphanedObjects) List(req ident.Request) []OrphanedObject {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Values(ls.of[req]))
}

// Note records why an orphaned object was kept; "" removes it from the list.
func (ls *orphanedObjects) Note(req ident.Request, l OrphanedObject, why string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.why = why; why != "" {
		ls.of[req][l.key()] = l
		return
	}
	delete(ls.of[req], l.key())
	if len(ls.of[req]) == 0 {
		delete(ls.of, req)
	}
}

// Has reports whether a primary has orphaned objects.
func (ls *orphanedObjects) Has(req ident.Request) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.of[req]) > 0
}

// KeptByAnother is why an object stays, with its label: another rule leaves it
// unchanged because it exists.
const KeptByAnother = "another rule keeps it as it is"
