package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// An orphanedObject is an object, or a patch, that a removed rule has left
// behind for a primary of other rules. One of those rules may render it now.
// Only a reconciliation of the primary can tell, so that is where it is pruned.
type orphanedObject struct {
	rule   *rules.Rule // has only its name and the ServiceAccount to impersonate
	kind   Kind
	object *watch.Object // nil: the rule's patch of the primary
	why    string        // why the last reconciliation kept it
}

// orphanedObjects are the orphaned objects of the primaries of one kind.
type orphanedObjects struct {
	mu sync.Mutex
	of map[Request]map[orphanedKey]orphanedObject
}

type orphanedKey struct {
	rule string
	uid  types.UID // "": the patch
}

func (l *orphanedObject) key() orphanedKey {
	if l.object == nil {
		return orphanedKey{rule: l.rule.Name}
	}
	return orphanedKey{l.rule.Name, l.object.GetUID()}
}

// add hands an orphaned object to the next reconciliation of a primary. It
// returns why the last reconciliation kept the object, or "".
func (ls *orphanedObjects) add(req Request, l orphanedObject) (why string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.of == nil {
		ls.of = map[Request]map[orphanedKey]orphanedObject{}
	}
	if ls.of[req] == nil {
		ls.of[req] = map[orphanedKey]orphanedObject{}
	}
	l.why = ls.of[req][l.key()].why
	ls.of[req][l.key()] = l
	return l.why
}

func (ls *orphanedObjects) list(req Request) []orphanedObject {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Values(ls.of[req]))
}

// note records why an orphaned object was kept; "" removes it from the list.
func (ls *orphanedObjects) note(req Request, l orphanedObject, why string) {
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

func (ls *orphanedObjects) has(req Request) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.of[req]) > 0
}

// pruneOrphaned deletes the primary's orphaned objects that certainly no rule
// renders or keeps.
func (p *pass) pruneOrphaned(ctx context.Context) (total outcome) {
	all := p.primary.orphanedObjects.list(p.req)
	if len(all) == 0 {
		return total
	}
	mayNeed := append(p.heirs(), p)
	for _, l := range all {
		why, err := p.pruneOrphanedObject(ctx, &l, mayNeed)
		switch {
		case errors.Is(err, errStale) && !p.confirmed:
			total = total.after(p.retryStale()) // The primary changed since this reconciliation read it.
			continue
		case errors.Is(err, errStale): // The next cleanup finds it again, unless another rule has it by then.
		case err != nil:
			total = worse(total, p.outcomeOf(err).quietly())
			why = err.Error()
		}
		p.primary.orphanedObjects.note(p.req, l, why)
	}
	return total
}

// pruneOrphanedObject deletes an orphaned object unless one of the reconciliations may
// need it. It returns why the object stays.
func (p *pass) pruneOrphanedObject(ctx context.Context, l *orphanedObject, mayNeed []*pass) (why string, err error) {
	if l.object == nil {
		return p.pruneOrphanedPatch(ctx, l.rule)
	}
	id := l.object.Identity(l.kind.GVK)
	for _, other := range mayNeed {
		if why := other.mayNeed(l, id); why != "" {
			return why, nil
		}
	}
	return "", p.remove(ctx, l.rule, l.kind, l.object)
}

// mayNeed returns why an orphaned object stays, or "".
func (p *pass) mayNeed(l *orphanedObject, id rules.Identity) (why string) {
	switch kept, wanted := p.keptOrWanted(id); {
	case kept:
		return keptByAnother
	case wanted:
		return "another rule renders it"
	case p.rendering.MayRender(l.rule, l.object.Child(), id) != "", p.incomplete(l.object.Child(), id.GVK.GroupKind()):
		return "another rule may render it, which is not known yet"
	}
	return ""
}

// keptByAnother is why an object stays, with its label: another rule leaves it
// unchanged because it exists.
const keptByAnother = "another rule keeps it as it is"

// incomplete reports whether a collection of interchangeable objects, rendered from
// a child with this id and kind, still lacks objects. Until all of them exist, an
// orphaned object of the collection may be the only one and must not be deleted.
func (p *pass) incomplete(child string, gk schema.GroupKind) bool {
	missing := func(d rules.Desired) bool { return d.State == rules.Rendered && p.live(d.Identity) == nil }
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if !r.Teardown && slices.ContainsFunc(r.Children, func(c rules.ChildResult) bool {
			return c.Child.HasReplicas() && c.Child.ID == child && c.Child.GVK.GroupKind() == gk && slices.ContainsFunc(c.Objects, missing)
		}) {
			return true
		}
	}
	return false
}
