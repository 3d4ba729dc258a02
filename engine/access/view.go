package access

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// A View is the cluster and the rules as one reconciliation sees them. It sends no request.
type View struct {
	*Subject
	reader ident.Request // who is enqueued when a lookup changes; zero: the primary
}

// Refused reports whether the primary may have the report of another installation, which
// a write would remove. The ConfigMap of a bundle is this installation's alone.
func (p *View) Refused() bool {
	return !p.Primary.ForCluster() && p.Admitted.RefusesAny(p.Primary)
}

// Granular returns the granular fields of a child's kind, or nil.
func (p *View) Granular(gvk schema.GroupVersionKind) *managedfields.Granular {
	w := p.Primary.Children[gvk]
	if w == nil {
		return nil
	}
	c, err := w.Cache()
	if err != nil {
		return nil
	}
	return c.Granular()
}

// PredatesSchema reports whether our last apply of an object has to be repeated, see CheckedSchema.
func (p *View) PredatesSchema(d *rules.Desired, live *watch.Object, w *Written) bool {
	return live != nil && w.Schema.Predates(p.Granular(d.Identity.GVK), live.Fields(), func() map[string]any {
		desired, _ := d.Object() // Its error is told elsewhere.
		return desired
	})
}

// HoldConditions returns a condition that tells which rules of the primary are held, or none.
func (p *View) HoldConditions() []rules.Condition {
	var briefs []string
	for i := range p.Rendering.Rules {
		r := &p.Rendering.Rules[i]
		if h, held := p.HoldOf(r.Rule); held && p.Manages(r) {
			briefs = append(briefs, h.Brief)
		}
	}
	if len(briefs) == 0 {
		return nil
	}
	return []rules.Condition{{Type: outcome.ConditionHeld, Status: rules.True, Reason: outcome.ReasonHeld,
		Message: strings.Join(briefs, "; ")}}
}

// HoldOf returns why a rule is held, if it is.
func (p *View) HoldOf(r *rules.Rule) (h plan.Hold, held bool) {
	h, held = p.Primary.Plan.Holds[plan.RuleOf{Name: r.Name, Kind: p.Req.Kind}]
	return h, held
}

// Suspended reports whether nothing of a rule is written, because it is held.
func (p *View) Suspended(r *rules.Rule) bool {
	return len(p.Primary.Plan.Holds) > 0 && p.Primary.Plan.Suspends(r)
}

// Matches reports whether any rule manages the primary. A rule whose match is
// unknown because of an error counts.
func (p *View) Matches() bool {
	for i := range p.Rendering.Rules {
		if p.Manages(&p.Rendering.Rules[i]) {
			return true
		}
	}
	return false
}

// Manages reports whether a rule manages the primary.
func (p *View) Manages(r *rules.RuleResult) bool {
	return r.Matches || r.Err != nil || r.Teardown && p.Self.Terminating()
}

// Render renders the rules for the primary. A rule that exceeds a limit of
// package rules is stalled until the object or the rules change. Only a timeout
// is retried.
func (p *View) Render(now time.Time) {
	p.Primary.Render(rules.Input{
		Self: p.Self.Content(), Now: now, Installation: p.Installation, Observed: p.Observed, Owned: p.Owned,
		Lookup: p.lookup, Timeout: RenderTimeout,
		Coverage: p.Coverage, Numbers: p.Cluster.NumberFields(),
	}, p.Rendering)
}

// Over returns what a rule renders for the primary in another state.
func (p *View) Over(self *watch.Object, rule *rules.Rule) *rules.RuleResult {
	s := *p.Subject
	s.Self, s.Rendering, s.Wanted, s.Later, s.bundles = self, &rules.Rendering{}, nil, nil, nil
	(&View{Subject: &s}).Render(p.Clock.Now())
	i := slices.IndexFunc(s.Rendering.Rules, func(r rules.RuleResult) bool { return r.Rule == rule })
	return &s.Rendering.Rules[i]
}

// VolatileReads says what the rules of the primary read that changes with each of its writes, or "".
func (p *View) VolatileReads() string {
	var all []string
	for _, r := range p.Primary.Rules {
		for _, v := range r.VolatileReads(p.Cache.Kind().Status) {
			all = append(all, fmt.Sprintf("%s, which changes with every write (%s)", v.Text(), v.Pos))
		}
	}
	return outcome.JoinFirst(all)
}

// Unlisted returns the first kind without a cache, and why it has none. The rule may have
// created objects of that kind. A kind that is gone has no objects.
func (p *View) Unlisted(ctx context.Context, r *rules.Rule) (kind, why string) {
	for _, w := range p.Primary.ByRule[r] {
		c, err := w.Cache()
		if err == nil {
			err = c.UnlistedFor(r, p.Req.Namespace)
		}
		if err == nil {
			continue
		}
		if discover.IsNoKind(err) {
			gk := w.GVK.GroupKind()
			_, other := discover.AnyVersion(ctx, p.Kinds, gk)
			gone, unsure := p.JudgeMissing(ctx, gk, other)
			if gone {
				continue
			}
			if unsure != nil {
				err = unsure
			}
		}
		_, why = p.Memory.Wordings.Report(w.GVK.String(), "", err.Error(), p.Clock.Now(), alternation)
		return w.GVK.Kind, why
	}
	return "", ""
}

// LaterView is the view of the rules that the primary gets when a rollout reaches it, and held changes are approved. It
// is nil without them.
func (p *View) LaterView() *View {
	if p.Primary.Later != nil && p.Later == nil {
		later := *p.Subject
		later.Primary, later.Rendering, later.Wanted = p.Primary.Later, &rules.Rendering{}, nil
		p.Later = &View{Subject: &later}
		p.Later.Render(p.Clock.Now())
	}
	return p.Later
}

// Bundles are the views of the loaded rules for the cluster, now and later. One of them may take over an object of
// another rule, as the rules for one primary may.
func (p *View) Bundles() []*View {
	if !p.Primary.ForCluster() || p.bundles != nil {
		return p.bundles
	}
	p.bundles = []*View{}
	for _, pk := range []*plan.PrimaryKind{p.Primary, p.Primary.Later} {
		if pk == nil {
			continue
		}
		for _, r := range pk.Rules {
			other := *p.Subject
			other.Primary, other.Req = pk, p.Cluster.BundleOf(r.Name)
			other.Self = watch.NewObject(rules.NewBundle(other.Req, r.Name), watch.Primary)
			other.Rendering, other.Wanted, other.Later, other.bundles = &rules.Rendering{}, nil, nil, nil
			v := &View{Subject: &other, reader: p.Req}
			v.Render(p.Clock.Now())
			p.bundles = append(p.bundles, v)
		}
	}
	return p.bundles
}

// HeirOf returns the name of another rule for the cluster that wants an object, or "".
func (p *View) HeirOf(id rules.Identity) string {
	for _, v := range p.Bundles() {
		if v.Req != p.Req && v.Wants(id) {
			return rules.BundleRule(v.Self.Content())
		}
	}
	return ""
}

// Released reports whether an object is of another rule for the cluster, which is gone, or neither wants it nor may
// render it.
func (p *View) Released(o *watch.Object, id rules.Identity) bool {
	owner, tracked := o.Owner()
	if !tracked || owner.Kind != rules.BundleKind.GroupKind() || owner == p.Req {
		return false
	}
	return !slices.ContainsFunc(p.Bundles(), func(v *View) bool {
		return v.Req == owner && (v.Wants(id) || slices.ContainsFunc(v.Primary.Rules, func(r *rules.Rule) bool {
			return v.Rendering.MayRender(r, o.Child(), id) != ""
		}))
	})
}

// A reconciliation reads children from the cache, combined with our own writes
// and deletes that the cache does not show yet. Otherwise a lagging watch would
// repeat a write or create a duplicate object.

// Observed returns a live child to the renderer.
func (p *View) Observed(id rules.Identity) rules.Live {
	o := p.Live(id)
	if o == nil {
		return rules.Live{}
	}
	if !o.BelongsTo(p.Req) && (o.OwnerUID() != "" || !decide.IsAbandoned(p.Primary.Rules, o)) {
		return rules.Live{}
	}
	return p.liveOf(o)
}

func (p *View) liveOf(o *watch.Object) rules.Live {
	return rules.Live{Object: o.Content(), Applied: o.Applied(), Deleted: p.Memory.HasDeleted(o.GetUID())}
}

// Owned returns all live objects of a child to the renderer. While their kind is not
// listed, there may be more. The primary is enqueued as soon as it is.
func (p *View) Owned(r *rules.Rule, child *rules.Child) (out []rules.Live, err error) {
	c := p.Primary.CacheOf(child.GVK)
	if c == nil {
		return nil, rules.ErrUnwatched
	}
	if c.UnlistedFor(r, p.Req.Namespace) != nil {
		err = rules.ErrUnwatched
	}
	for o := range p.objectsOf(c) {
		if o.Rule() == r.Name && o.Child() == child.ID {
			out = append(out, p.liveOf(o))
		}
	}
	return out, err
}

// objectsOf returns the primary's objects of one kind, including those that are
// only known from the response to our own write.
func (p *View) objectsOf(c *watch.Cache) iter.Seq[*watch.Object] {
	return func(yield func(*watch.Object) bool) {
		ahead := p.ahead(c) // Read before the cache, so that the cache then has all others.
		for o := range c.OwnedBy(p.Req) {
			if len(ahead) > 0 && ahead[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] != nil {
				continue
			}
			if !yield(o) {
				return
			}
		}
		for _, o := range ahead {
			if o.BelongsTo(p.Req) && !yield(o) {
				return
			}
		}
	}
}

// lookup runs a rule's query. A change of the result triggers another
// reconciliation.
func (p *View) lookup(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	answer, err := p.Primary.Lookups[l].Lookup(&p.Memory.Reads, cmp.Or(p.reader, p.Req), q, p.Cluster.Scope())
	if err != nil {
		return nil, err
	}
	objects, unknown := answer.Objects()
	if unknown != nil {
		p.noteUnread(l, unknown)
		return nil, rules.ErrUnwatched // Enqueued again as soon as the kind is listed.
	}
	return objects, nil
}

// noteUnread records why the objects of a lookup are unknown.
func (p *View) noteUnread(l *rules.Lookup, why error) {
	if p.unread == nil {
		p.unread = map[*rules.Lookup]error{}
	}
	p.unread[l] = why
}

// UnlistedKind returns the first kind that a rule renders or reads and whose
// cache is not synced in the primary's namespace, and why. A rule in teardown does
// not wait for its lookups, which must not block the deletion of the primary.
func (p *View) UnlistedKind(r *rules.RuleResult) (kind, why string) {
	for _, child := range r.Rule.Children {
		c, err := p.Primary.Children[child.GVK].Cache()
		if err == nil {
			err = c.UnlistedFor(r.Rule, p.Req.Namespace)
		}
		if err != nil {
			return child.GVK.Kind, outcome.Permission(err).Error()
		}
	}
	if r.Teardown {
		return "", ""
	}
	for _, l := range r.Rule.Lookups {
		err := p.unread[l]
		if err == nil {
			_, err = p.Primary.Lookups[l].Cache()
		}
		if err != nil {
			return l.GVK.Kind, outcome.Permission(err).Error()
		}
	}
	return "", ""
}

// Live returns the child with an identity, whoever its owner is. It comes from the
// cache, or from the response to our own last write while the cache lags behind.
func (p *View) Live(id rules.Identity) *watch.Object {
	c := p.Primary.CacheOf(id.GVK)
	if c == nil {
		return nil
	}
	w := p.Memory.Find(id)
	if w == nil || w.Object == nil {
		o, _ := c.Get(id.Namespace, id.Name)
		return o
	}
	seen := c.CaughtUp(id.Namespace, w.Version) // Read before the object: an object missing after that is deleted.
	o, _ := c.Get(id.Namespace, id.Name)
	if seen || o != nil && !o.OlderThan(w.Version) {
		w.Object = nil
		return o
	}
	return w.Object
}

// ahead returns the responses to our own writes that a cache does not show yet.
func (p *View) ahead(c *watch.Cache) map[types.NamespacedName]*watch.Object {
	var out map[types.NamespacedName]*watch.Object
	for _, w := range p.Memory.Children {
		if w.Object == nil || w.Identity.GVK != c.Kind().GVK {
			continue
		}
		if o := p.Live(w.Identity); o != nil && w.Object != nil {
			if out == nil {
				out = map[types.NamespacedName]*watch.Object{}
			}
			out[types.NamespacedName{Namespace: w.Identity.Namespace, Name: w.Identity.Name}] = o
		}
	}
	return out
}

// Forget removes the memory that is no longer needed at the end of a
// reconciliation: children that no rule renders and deletions, both once the cache
// shows them.
func (p *View) Forget() {
	p.Memory.Reads.Retain()
	p.Memory.Retain(func(w *Written) bool {
		if p.Wants(w.Identity) {
			return true
		}
		return w.Object != nil && p.Live(w.Identity) == w.Object
	})
	maps.DeleteFunc(p.Memory.Deleted, func(uid types.UID, d Deletion) bool {
		c := p.Primary.CacheOf(d.Identity.GVK)
		if c == nil {
			return true
		}
		if !c.CaughtUp(d.Identity.Namespace, d.Version) {
			return false
		}
		o, _ := c.Get(d.Identity.Namespace, d.Identity.Name)
		return o == nil || o.GetUID() != uid
	})
}
