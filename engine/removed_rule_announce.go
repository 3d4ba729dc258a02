package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
)

// removalSettle is how long a rule must be gone before the deletion of its
// objects is announced. A rule is not removed if it was renamed, or if it is only
// missing while its file is being written.
const removalSettle = 5 * time.Second

// announcements has the times at which pending deletions were announced. With it,
// a reload neither repeats an announcement nor restarts its wait.
type announcements struct {
	mu sync.Mutex
	at map[announced]time.Time
}

type announced struct{ rule, kind string }

func announcedOf(r inventory.RemovedRule) announced { return announced{r.Name, r.For} }

// of returns when a removal was announced, or the zero time.
func (a *announcements) of(r inventory.RemovedRule) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[announcedOf(r)]
}

func (a *announcements) note(r inventory.RemovedRule, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil {
		a.at = map[announced]time.Time{}
	}
	a.at[announcedOf(r)] = at
}

// retain forgets removals that are no longer pending. A rule that was restored
// and removed again is announced again.
func (a *announcements) retain(removed []inventory.RemovedRule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.at {
		if !slices.ContainsFunc(removed, func(r inventory.RemovedRule) bool { return announcedOf(r) == k }) {
			delete(a.at, k)
		}
	}
}

// announce reports the objects that the removal of a rule will delete, and
// returns how long to wait before the deletion.
func (e *Engine) announce(ctx context.Context, r inventory.RemovedRule) time.Duration {
	grace := e.options.RemovalGrace
	if at := e.announcements.of(r); !at.IsZero() {
		return max(0, grace-e.clock.Since(at))
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
	e.announcements.note(r, e.clock.Now())
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
