package cleanup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
)

// removalSettle is how long a rule must be gone before the deletion of its
// objects is announced. A rule is not removed if it was renamed, or if it is only
// missing while its file is being written.
const removalSettle = 5 * time.Second

// A removalKey identifies the removal of a rule.
type removalKey struct{ rule, kind string }

func removalKeyOf(r inventory.RemovedRule) removalKey { return removalKey{r.Name, r.For} }

// RetainAnnounced forgets announced removals that are no longer pending. A rule that was
// restored and removed again is announced again.
func (c *Cleanup) RetainAnnounced(removed []inventory.RemovedRule) {
	c.announced.Range(func(key, _ any) bool {
		if !slices.ContainsFunc(removed, func(r inventory.RemovedRule) bool { return removalKeyOf(r) == key }) {
			c.announced.Delete(key)
		}
		return true
	})
}

// announce reports the objects that the removal of a rule will delete, and
// returns how long to wait before the deletion.
func (c *Cleanup) announce(ctx context.Context, r inventory.RemovedRule) time.Duration {
	grace := c.Options.RemovalGrace
	if at, known := c.announced.Load(removalKeyOf(r)); known {
		return max(0, grace-c.Clock.Since(at.(time.Time)))
	}
	c.Log.Info("rule removed", "rule", r.Name, "kind", r.For)
	outcome.Sleep(ctx, min(removalSettle, grace))
	objects := c.countRemoved(ctx, r)
	if ctx.Err() != nil || objects == "" {
		return 0
	}
	c.Log.Warn("rule removed, deleting its objects", "rule", r.Name, "kind", r.For, "objects", objects, "delay", grace)
	c.Cluster.ReportRules(outcome.ReasonRuleRemoved, "Reload", fmt.Sprintf(
		"rule %q for %s was removed; its objects are deleted in %s (%s). Put the rule back to keep them", r.Name, r.For,
		grace, objects))
	c.announced.Store(removalKeyOf(r), c.Clock.Now())
	return grace
}

// countRemoved counts the objects of a removed rule by kind, such as
// "2 ConfigMap, 1 Secret"; "" if there are none. It names kinds that cannot be
// listed.
func (c *Cleanup) countRemoved(ctx context.Context, r inventory.RemovedRule) string {
	s := &Removal{Cluster: c.Cluster, Rule: r}
	var counts []string
	for _, gvk := range r.Kinds() {
		n := 0
		err := s.EachChild(ctx, gvk, func(ident.Kind, *watch.Object, ident.Request) { n++ })
		switch {
		case err != nil:
			counts = append(counts, "an unknown number of "+gvk.Kind)
		case n > 0:
			counts = append(counts, fmt.Sprintf("%d %s", n, gvk.Kind))
		}
	}
	return strings.Join(counts, ", ")
}
