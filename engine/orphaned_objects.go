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

// An orphanedObject is what a removed rule has left of a primary that other rules are
// for: one of them may render it now. Only a look at the primary can tell, so
// that is what takes it away.
type orphanedObject struct {
	rule   *rules.Rule // no more than its name, and as whom it writes
	kind   Kind
	object *watch.Object // nil: what the rule has patched into the primary
	why    string        // it was still there after the last look
}

// orphanedObjects are those of the primaries of one kind.
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

// add hands an orphaned object to the next reconciliation of a primary. It returns why the last
// one has left it, or "".
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

// list returns the orphaned objects of a primary.
func (ls *orphanedObjects) list(req Request) []orphanedObject {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return slices.Collect(maps.Values(ls.of[req]))
}

// note says why an orphaned object is still there, or "" when nothing more is to be
// done about it.
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

// has reports whether a primary has any.
func (ls *orphanedObjects) has(req Request) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.of[req]) > 0
}

// pruneOrphaned takes away what removed rules have left of the primary, as far
// as it is known that no rule wants it.
func (p *pass) pruneOrphaned(ctx context.Context) (total outcome) {
	for _, l := range p.primary.orphanedObjects.list(p.req) {
		why, err := p.pruneOrphanedObject(ctx, &l)
		switch {
		case errors.Is(err, errStale) && !p.confirmed:
			total = total.after(staleRetry) // The primary is not what this pass has seen.
			continue
		case errors.Is(err, errStale): // It is found anew, unless it has another rule by now.
		case err != nil:
			total = worse(total, p.outcomeOf(err).quietly())
			why = err.Error()
		}
		p.primary.orphanedObjects.note(p.req, l, why)
	}
	return total
}

func (p *pass) pruneOrphanedObject(ctx context.Context, l *orphanedObject) (why string, err error) {
	if l.object == nil {
		return p.pruneOrphanedPatch(ctx, l.rule)
	}
	id := l.object.Identity(l.kind.GVK)
	switch kept, wanted := p.keptOrWanted(id); {
	case kept:
		return keptByAnother, nil
	case wanted:
		return "another rule renders it", nil
	case p.rendering.MayRender(l.rule, l.object.Child(), id) != "", p.incomplete(l.object.Child(), id.GVK.GroupKind()):
		return "another rule may render it, which is not known yet", nil
	}
	return "", p.remove(ctx, l.rule, l.kind, l.object)
}

// keptByAnother is why an object stays, with its label, that another rule leaves
// alone because it exists.
const keptByAnother = "another rule keeps it as it is"

// incomplete reports whether a rule makes interchangeable objects of a kind from a
// child of this id, and not all of them are there yet, or known. Then one that it
// does not take over must not go before another one is in its place.
func (p *pass) incomplete(child string, gk schema.GroupKind) bool {
	missing := func(d rules.Desired) bool { return d.State == rules.Rendered && p.live(d.Identity) == nil }
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if !r.Leaving && slices.ContainsFunc(r.Children, func(c rules.ChildResult) bool {
			return c.Child.Interchangeable() && c.Child.ID == child && c.Child.GVK.GroupKind() == gk && slices.ContainsFunc(c.Objects, missing)
		}) {
			return true
		}
	}
	return false
}
