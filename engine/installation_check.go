package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// settle decides which rules of a plan are refused, and records in the inventory
// what the others are about to create. It runs before any write of the plan. The old
// plan, if any, gets no more verdicts once settle succeeds.
func (e *Engine) settle(ctx context.Context, pl, old *plan) (err error) {
	e.settling.Lock()
	defer e.settling.Unlock()
	if old != nil {
		old.superseded = true
		defer func() { old.superseded = err == nil }()
	}
	_, err = e.renewVerdict(ctx, pl, nil)
	return err
}

func (e *Engine) renewVerdict(ctx context.Context, pl *plan, before *verdict) (*verdict, error) {
	v := e.judge(ctx, pl, before)
	if err := e.inventory.Extend(ctx, pl.program, pl.check(v)); err != nil {
		return nil, err
	}
	e.logVerdict(v)
	pl.verdict.Store(v)
	return v, nil
}

// A ruleOf identifies a rule by the marks on its objects: its name, and the kind of
// their primary.
type ruleOf struct {
	name string
	kind schema.GroupKind
}

// judge looks for objects of the plan's rules that other installations have applied.
// It does not refuse a rule that was active before with checked objects: otherwise
// two processes that start at once would stop each other.
func (e *Engine) judge(ctx context.Context, pl *plan, before *verdict) *verdict {
	v := &verdict{refused: map[*rules.Rule]refusedRule{}, takenOver: maps.Clone(pl.orphaned.TakenOver), checked: map[*watch.Watch]extent{}}
	if v.takenOver == nil {
		v.takenOver = map[string][]string{}
	}
	found := e.foreign(pl, v.checked)
	tenures := map[string]tenure{}
	for _, pk := range pl.primaries {
		for _, r := range pk.Rules {
			objects := found[ruleOf{r.Name, pk.GVK.GroupKind()}]
			for _, other := range slices.Sorted(maps.Keys(objects)) {
				t, known := tenures[other]
				if !known {
					t = e.tenureOf(ctx, other)
					tenures[other] = t
				}
				if !e.mayTake(v, r, other, t) && (before == nil || before.refuses(r) || before.unchecked(pk, r)) {
					v.refuse(r, other, objects[other], t)
				}
			}
		}
	}
	return v
}

// foreign counts the objects that other installations have applied, by rule and
// installation, and records which caches it has checked.
func (e *Engine) foreign(pl *plan, checked map[*watch.Watch]extent) map[ruleOf]map[string]int {
	found := map[ruleOf]map[string]int{}
	for _, w := range pl.watches {
		l, ok := extentOf(w)
		if !ok || w.Role != watch.Child {
			continue
		}
		checked[w] = l
		for o := range l.cache.All() {
			if !e.ofOtherInstallation(o, nil) {
				continue
			}
			owners := o.Owners()
			if len(owners) == 0 || o.Orphan() && !slices.ContainsFunc(owners, pl.showsOwner) {
				continue // It is never deleted.
			}
			key := ruleOf{o.Rule(), owners[0].Kind}
			if found[key] == nil {
				found[key] = map[string]int{}
			}
			found[key][o.Installation()]++
		}
	}
	return found
}

// showsOwner reports whether a primary is in the caches.
func (pl *plan) showsOwner(owner Request) bool {
	pk := pl.primaries[owner.Kind]
	if pk == nil {
		return false
	}
	c, err := pk.watch.Cache()
	if err != nil {
		return false
	}
	if !c.Kind().Namespaced {
		owner.Namespace = ""
	}
	self, _ := c.Get(owner.Namespace, owner.Name)
	return self != nil && rules.UIDOf(owner.Kind, self) == owner.UID
}

// mayTake reports whether the objects of another installation belong to this one
// now: its Lease is not held, and --take-over named it now or earlier.
func (e *Engine) mayTake(v *verdict, r *rules.Rule, other string, t tenure) bool {
	switch {
	case t.state == leaseHeld:
		return false
	case slices.Contains(v.takenOver[r.Name], other):
		return true
	case !slices.Contains(e.options.TakeOver, other):
		return false
	}
	v.takenOver[r.Name] = append(slices.Clone(v.takenOver[r.Name]), other)
	e.log.Info("taking over the objects of another installation", "rule", r.Name, "installation", other)
	return true
}

// refuse records that objects of a rule belong to another installation.
func (v *verdict) refuse(r *rules.Rule, other string, objects int, t tenure) {
	remedy := "stop that installation, or give this rule another name"
	if t.state != leaseHeld {
		remedy = "to take its objects over, start with --take-over=" + other
	}
	if t.state == leaseUnknown {
		remedy = "make sure that it has stopped; " + remedy
	}
	was := v.refused[r]
	message := fmt.Sprintf("%s to the installation %q, %s: %s", objectsBelong(objects), other, t.says, remedy)
	if was.message != "" {
		message = was.message + "; " + message
	} else {
		message = fmt.Sprintf("rule %q: ", r.Name) + message
	}
	v.refused[r] = refusedRule{key: fmt.Sprintf("%s%s %d ", was.key, other, t.state), message: message}
}

func objectsBelong(objects int) string {
	if objects == 1 {
		return "1 object belongs"
	}
	return fmt.Sprintf("%d objects belong", objects)
}

// logVerdict reports newly refused rules and those that are active again. It repeats
// nothing while nothing changes.
func (e *Engine) logVerdict(v *verdict) {
	now := map[ruleOf]string{}
	for r, refused := range v.refused {
		of := ruleOf{r.Name, r.GVK.GroupKind()}
		now[of] = refused.key
		if e.reportedRefused[of] == refused.key {
			continue
		}
		e.log.Warn("installation conflict, rule is inactive", "rule", r.Name, "kind", r.GVK.GroupKind().String(), "message", refused.message)
		e.reportRules(reasonInstallationConflict, "Check", refused.message)
	}
	for of := range e.reportedRefused {
		if _, still := now[of]; !still {
			e.log.Info("installation conflict resolved", "rule", of.name, "kind", of.kind.String())
		}
	}
	e.reportedRefused = now
}

// recheck checks the refused rules every recheckEvery, and at once when a cache that a
// rule waits for is listed.
func (e *Engine) recheck(ctx context.Context, pl *plan) {
	tick := time.NewTicker(recheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if len(pl.verdict.Load().refused) == 0 {
				continue
			}
		case <-pl.unchecked:
		}
		if err := e.reconsider(ctx, pl); err != nil && ctx.Err() == nil {
			e.log.Warn("background task failed, will retry", "task", "installation check", "error", err)
			sleep(ctx, time.Second)
			pl.askCheck()
		}
	}
}

// reconsider computes a new verdict for the active plan.
func (e *Engine) reconsider(ctx context.Context, pl *plan) error {
	e.settling.Lock()
	defer e.settling.Unlock()
	if pl.superseded {
		return nil
	}
	before := pl.verdict.Load()
	v, err := e.renewVerdict(ctx, pl, before)
	if err != nil {
		return err
	}
	for _, pk := range pl.primaries {
		if slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return before.refuses(r) && !v.refuses(r) || before.unchecked(pk, r) }) {
			e.enqueueKind(pk)
		}
	}
	return nil
}

// askCheck makes recheck run now.
func (pl *plan) askCheck() {
	select {
	case pl.unchecked <- struct{}{}:
	default: // A check is pending already.
	}
}

// recheckEvery is how often refused rules are checked again.
const recheckEvery = 10 * time.Second
