package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
)

// removalSettle is how long a rule must be gone before the deletion of its
// objects is announced. A rule is not removed if it was renamed, or if it is only
// missing while its file is being written.
const removalSettle = 5 * time.Second

// A removalKey identifies the removal of a rule.
type removalKey struct{ rule, kind string }

func removalKeyOf(r inventory.RemovedRule) removalKey { return removalKey{r.Name, r.For} }

// retainAnnounced forgets announced removals that are no longer pending. A rule that was
// restored and removed again is announced again.
func (e *Engine) retainAnnounced(removed []inventory.RemovedRule) {
	e.announced.Range(func(key, _ any) bool {
		if !slices.ContainsFunc(removed, func(r inventory.RemovedRule) bool { return removalKeyOf(r) == key }) {
			e.announced.Delete(key)
		}
		return true
	})
}

// announce reports the objects that the removal of a rule will delete, and
// returns how long to wait before the deletion.
func (e *Engine) announce(ctx context.Context, r inventory.RemovedRule) time.Duration {
	grace := e.options.RemovalGrace
	if at, known := e.announced.Load(removalKeyOf(r)); known {
		return max(0, grace-e.clock.Since(at.(time.Time)))
	}
	e.log.Info("rule removed", "rule", r.Name, "kind", r.For)
	sleep(ctx, min(removalSettle, grace))
	objects := e.countRemoved(ctx, r)
	if ctx.Err() != nil || objects == "" {
		return 0
	}
	e.log.Warn("rule removed, deleting its objects", "rule", r.Name, "kind", r.For, "objects", objects, "delay", grace)
	e.reportRules(reasonRuleRemoved, "Reload", fmt.Sprintf(
		"rule %q for %s was removed; its objects are deleted in %s (%s). Put the rule back to keep them", r.Name, r.For, grace, objects))
	e.announced.Store(removalKeyOf(r), e.clock.Now())
	return grace
}

// countRemoved counts the objects of a removed rule by kind, such as
// "2 ConfigMap, 1 Secret"; "" if there are none. It names kinds that cannot be
// listed.
func (e *Engine) countRemoved(ctx context.Context, r inventory.RemovedRule) string {
	s := &removal{engine: e, rule: r}
	var counts []string
	for _, gvk := range r.Kinds() {
		n := 0
		err := s.eachChild(ctx, gvk, func(Kind, *watch.Object, Request) { n++ })
		switch {
		case err != nil:
			counts = append(counts, "an unknown number of "+gvk.Kind)
		case n > 0:
			counts = append(counts, fmt.Sprintf("%d %s", n, gvk.Kind))
		}
	}
	return strings.Join(counts, ", ")
}
