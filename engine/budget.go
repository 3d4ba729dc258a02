package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"reconcel/engine/inventory"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// spared is the number of deletions that a percentage always allows: it must not make small
// changes tedious.
const spared = 10

// A toll is what a changed version of a rule would delete or replace at once.
type toll struct {
	objects  int // that the rule has now
	deleted  int
	replaced int
	first    []string // of the deleted and replaced ones, by name
	unknown  bool     // the objects of the removed rule cannot be listed now
}

// firstOf is how many objects a message names.
const firstOf = 3

func (t *toll) take(id rules.Identity, count *int) {
	*count++
	name := id.String()
	at, _ := slices.BinarySearch(t.first, name)
	if t.first = slices.Insert(t.first, at, name); len(t.first) > firstOf {
		t.first = t.first[:firstOf]
	}
}

// excess returns what a change does that is more than its rule may delete and replace, or "".
func (e *Engine) excess(c *change, t *toll) string {
	if t == nil || t.deleted+t.replaced <= e.mostDeletions(c.now, t.objects) {
		return ""
	}
	what := "the new version of"
	if c.now == nil {
		what = "the removal of"
	}
	return fmt.Sprintf("%s rule %q would %s of %d objects", what, c.key.Rule, t.doing(), t.objects)
}

// mostDeletions returns how many of its objects a rule may delete at once. The rule is nil if it is removed.
func (e *Engine) mostDeletions(rule *rules.Rule, objects int) int {
	limit := *e.options.MaxDeletions
	if rule != nil && rule.Rollout.MaxDeletions != nil {
		limit = *rule.Rollout.MaxDeletions
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(&limit, objects, false)
	if err != nil || limit.Type == intstr.String && most < spared {
		most = spared
	}
	return most
}

// hold returns the hold of a change with an excess.
func (e *Engine) hold(c *change, excess string, t *toll, last *rules.Rule) hold {
	h := hold{hash: c.hash(), since: c.old.Digest, brief: excess + "; to approve: " + e.approval(c.hash()), suspends: last == nil}
	h.message = excess + ": " + t.named() + "; to approve: " + e.approval(c.hash())
	return h
}

// approval returns the command that approves a change.
func (e *Engine) approval(hash string) string {
	command := "reconcel approve " + hash + " -n " + e.options.Namespace
	if e.options.Name != "reconcel" {
		command += " --name " + e.options.Name
	}
	return command
}

func (t *toll) doing() string {
	switch {
	case t.replaced == 0:
		return fmt.Sprintf("delete %d", t.deleted)
	case t.deleted == 0:
		return fmt.Sprintf("replace %d", t.replaced)
	}
	return fmt.Sprintf("delete %d and replace %d", t.deleted, t.replaced)
}

func (t *toll) named() string {
	names := strings.Join(t.first, ", ")
	if more := t.deleted + t.replaced - len(t.first); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// countTolls counts what changed rules would delete and replace, from the caches and without a
// request. Only the objects of removed rules are listed.
func (e *Engine) countTolls(ctx context.Context, pl *plan, changed []change) (map[ruleOf]*toll, error) {
	tolls := map[ruleOf]*toll{}
	left := map[Request][]leftObject{}
	for i := range changed {
		c := &changed[i]
		tolls[c.of] = &toll{}
		if c.now != nil {
			continue
		}
		s := &removal{engine: e, rule: inventory.RemovedRule{Name: c.key.Rule, Entry: c.old}}
		for _, gvk := range c.old.Kinds() {
			err := s.eachChild(ctx, gvk, func(k Kind, o *watch.Object, owner Request) {
				tolls[c.of].objects++
				left[owner] = append(left[owner], leftObject{c.of, o.Identity(k.GVK)})
			})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				e.log.Debug("objects of a removed rule not counted", "rule", c.key.Rule, "kind", gvk.Kind, "error", err)
				tolls[c.of].unknown = true
			}
		}
	}
	for _, pk := range pl.primaries {
		cache, err := pk.watch.Cache()
		if err != nil {
			continue
		}
		if pk.ForCluster() {
			e.countForBundles(pk, cache, tolls, left)
			continue
		}
		for o := range cache.All() {
			e.countFor(pk, cache, o, tolls, left)
		}
		for _, w := range pk.children {
			pk.countUnshown(w, cache, tolls)
		}
	}
	for _, objects := range left { // Of primaries that have no rules now.
		for _, o := range objects {
			tolls[o.of].take(o.id, &tolls[o.of].deleted)
		}
	}
	return tolls, nil
}

// countForBundles counts what changed rules for the cluster would delete and replace, whether
// the ConfigMaps of their bundles exist or not. A bundle may take over the objects of another
// one whose rule is removed.
func (e *Engine) countForBundles(pk *primaryKind, cache *watch.Cache, tolls map[ruleOf]*toll, left map[Request][]leftObject) {
	for _, r := range pk.Rules {
		req := e.bundleOf(r.Name)
		self, _ := cache.Get(req.Namespace, req.Name)
		if self == nil {
			self = watch.NewObject(rules.NewBundle(req, r.Name), watch.Primary)
		}
		p := e.passToCount(pk, cache, self, req)
		p.countTolls(tolls, nil)
		for owner, objects := range left {
			if owner.Kind == req.Kind {
				left[owner] = slices.DeleteFunc(objects, func(o leftObject) bool { return p.wants(o.id) })
			}
		}
		renderings.Put(p.rendering)
	}
}

// countUnshown counts the objects of changed rules whose primaries the cache does not show: the
// selector of the rules no longer matches them.
func (pk *primaryKind) countUnshown(children *watch.Watch, primaries *watch.Cache, tolls map[ruleOf]*toll) {
	cache, err := children.Cache()
	if err != nil {
		return
	}
	for o := range cache.All() {
		owner, tracked := o.Owner()
		t := tolls[ruleOf{o.Rule(), owner.Kind}]
		if !tracked || t == nil || owner.Kind != pk.GVK.GroupKind() || o.Orphan() || o.Terminating() {
			continue
		}
		if !primaries.Kind().Namespaced {
			owner.Namespace = ""
		}
		if self, _ := primaries.Get(owner.Namespace, owner.Name); self == nil || rules.UIDOf(owner.Kind, self) != owner.UID {
			t.objects++
			t.take(o.Identity(children.GVK), &t.deleted)
		}
	}
}

// A leftObject is an object of a removed rule.
type leftObject struct {
	of ruleOf
	id rules.Identity
}

// countFor counts what changed rules would delete and replace of one primary.
func (e *Engine) countFor(pk *primaryKind, cache *watch.Cache, self *watch.Object, tolls map[ruleOf]*toll, left map[Request][]leftObject) {
	req := requestFor(pk.GVK.GroupKind(), self)
	objects := left[req]
	delete(left, req)
	if self.Terminating() || len(objects) == 0 && !pk.hasObjectOf(tolls, req) {
		return
	}
	p := e.passToCount(pk, cache, self, req)
	defer renderings.Put(p.rendering)
	p.countTolls(tolls, objects)
}

// passToCount returns a reconciliation that only renders. The memory of the primary belongs to the
// worker that reconciles it, so this pass has one of its own, as after a restart.
func (e *Engine) passToCount(pk *primaryKind, cache *watch.Cache, self *watch.Object, req Request) *pass {
	p := &pass{engine: e, primary: pk, cache: cache, cached: true, req: req, self: self, memory: &memory{}, rendering: renderings.Get().(*rules.Rendering)}
	p.render(e.clock.Now())
	p.memory.reads.End()
	return p
}

// countTolls adds what changed rules would delete and replace of one primary. objects are those
// of removed rules.
func (p *pass) countTolls(tolls map[ruleOf]*toll, objects []leftObject) {
	for i := range p.rendering.Rules {
		r := &p.rendering.Rules[i]
		if t := tolls[ruleOf{r.Rule.Name, p.req.Kind}]; t != nil && r.Err == nil && !r.Teardown {
			p.countToll(r, t)
		}
	}
	for _, o := range objects {
		if !p.wants(o.id) {
			tolls[o.of].take(o.id, &tolls[o.of].deleted)
		}
	}
}

// hasObjectOf reports whether a primary has an object of a changed rule. Only those are rendered:
// rendering all of a fleet takes long.
func (pk *primaryKind) hasObjectOf(tolls map[ruleOf]*toll, req Request) bool {
	for _, w := range pk.children {
		cache, err := w.Cache()
		if err != nil {
			continue // A kind that the API server does not serve.
		}
		for o := range cache.OwnedBy(req) {
			if tolls[ruleOf{o.Rule(), req.Kind}] != nil {
				return true
			}
		}
	}
	return false
}

// countToll adds what a rule would delete and replace.
func (p *pass) countToll(r *rules.RuleResult, t *toll) {
	for k, o := range p.madeBy(r.Rule) {
		t.objects++
		id := o.Identity(k.GVK)
		if !p.wants(id) && !p.leaves(o) && !staysAfter(r.Rule, o) && p.rendering.MayRender(r.Rule, o.Child(), id) == "" {
			t.take(id, &t.deleted)
		}
	}
	for i := range r.Children {
		for j := range r.Children[i].Objects {
			d := &r.Children[i].Objects[j]
			if d.State != rules.Rendered || d.Child.HasReplicas() {
				continue // Interchangeable objects are replaced a few at a time.
			}
			live := p.live(d.Identity)
			if live != nil && decide(d, live, p.known(d, &written{identity: d.Identity}, live)).action == Replaced {
				t.take(d.Identity, &t.replaced)
			}
		}
	}
}
