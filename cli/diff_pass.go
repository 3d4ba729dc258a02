package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine"
	"reconcel/rules"
)

// A diffPass compares one primary and what its rules want with the cluster. It
// follows a pass of the engine, but for its writes.
type diffPass struct {
	differ  *differ
	primary *rules.Primary
	kind    *engine.Kind
	self    *liveObject

	out      rules.Rendering
	kinds    map[schema.GroupVersionKind]*engine.Kind // nil for those that the API server does not know
	families map[schema.GroupVersionKind]*liveFamily  // of the children

	changes []change
	notes   []string
	errs    []error // what the cluster could not be asked
}

// tell says something that is no difference.
func (p *diffPass) tell(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *diffPass) fail(err error) { p.errs = append(p.errs, err) }

// skip keeps that nothing is done about an object, and why.
func (p *diffPass) skip(c change, why string) { p.without(c, actionNone, why) }

// without keeps that an object is not written, and why.
func (p *diffPass) without(c change, what action, why string) {
	c.Action, c.Reason = what, why
	p.changes = append(p.changes, c)
}

func (p *diffPass) run(ctx context.Context) {
	if p.self.terminating() {
		p.tell("is being deleted, and not compared")
		return
	}
	if err := p.gather(ctx); err != nil {
		p.fail(err)
		return
	}
	p.primary.Render(rules.Input{
		Self:     p.self.Object,
		Observed: p.observed,
		Owned:    p.owned,
		Lookup: func(l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
			return p.lookup(ctx, l, q)
		},
	}, &p.out)
	if len(p.errs) > 0 {
		return // What was rendered without knowing all means nothing.
	}
	if rules.Paused(p.self.Object) {
		p.tell("is paused by its annotation %s, and left alone", rules.AnnotationPaused)
		return
	}
	selected := false
	for i := range p.out.Rules {
		r := &p.out.Rules[i]
		selected = selected || r.Matches || r.Err != nil
		(&ruleDiff{diffPass: p, result: r}).run(ctx)
	}
	if selected {
		p.status(ctx)
	}
}

// gather reads what the rules may have made, before they are rendered: what is
// asked in a rendering has no way to fail.
func (p *diffPass) gather(ctx context.Context) error {
	p.kinds, p.families = map[schema.GroupVersionKind]*engine.Kind{}, map[schema.GroupVersionKind]*liveFamily{}
	namespace := p.childNamespace()
	for _, r := range p.primary.Rules {
		for _, gvk := range p.differ.childKinds(r) {
			k, err := p.findKind(ctx, gvk)
			if err != nil {
				return err
			}
			if k == nil || p.families[gvk] != nil {
				continue
			}
			if p.families[gvk], err = p.differ.cluster.children(ctx, k, namespace); err != nil {
				return err
			}
		}
		for _, l := range r.Lookups {
			if _, err := p.findKind(ctx, l.GVK); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *diffPass) findKind(ctx context.Context, gvk schema.GroupVersionKind) (*engine.Kind, error) {
	k, err := p.differ.cluster.kind(ctx, gvk)
	p.kinds[gvk] = k
	return k, err
}

// childNamespace returns where children are looked for. Who asks about one
// namespace may have no permission to read others.
func (p *diffPass) childNamespace() string {
	if slices.ContainsFunc(p.primary.Rules, (*rules.Rule).MayNeedFinalizer) {
		return "" // Some children may be elsewhere.
	}
	if p.kind.Namespaced {
		return p.differ.namespace
	}
	return ""
}

// childKinds returns the kinds that a rule renders or has rendered.
func (d *differ) childKinds(r *rules.Rule) (kinds []schema.GroupVersionKind) {
	for _, c := range r.Children {
		if !slices.Contains(kinds, c.GVK) {
			kinds = append(kinds, c.GVK)
		}
	}
	for _, gvk := range d.former[r] {
		if !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

// unknownKind returns the first kind that a rule renders or reads and the API
// server does not know, or "".
func (p *diffPass) unknownKind(r *rules.Rule) string {
	for _, c := range r.Children {
		if p.kinds[c.GVK] == nil {
			return c.GVK.Kind
		}
	}
	for _, l := range r.Lookups {
		if p.kinds[l.GVK] == nil {
			return l.GVK.Kind
		}
	}
	return ""
}

// find returns the object of that identity that some rule has made, or nil.
func (p *diffPass) find(id rules.Identity) *liveObject {
	family := p.families[id.GVK]
	if family == nil {
		return nil
	}
	return family.byName[types.NamespacedName{Namespace: id.Namespace, Name: id.Name}]
}

// observed gives the rules a live child, if it belongs to the primary.
func (p *diffPass) observed(id rules.Identity) rules.Live {
	o := p.find(id)
	if o == nil {
		return rules.Live{}
	}
	if !o.belongsTo(p.self) && (o.owner().UID != "" || !p.abandoned(o)) {
		return rules.Live{}
	}
	return o.live()
}

// abandoned reports whether an object without an owner was made from a child
// that is left alone once it exists.
func (p *diffPass) abandoned(o *liveObject) bool {
	marks := o.GetLabels()
	for _, r := range p.primary.Rules {
		if r.Name != marks[rules.LabelRule] {
			continue
		}
		if i := slices.IndexFunc(r.Children, func(c *rules.Child) bool { return c.ID == marks[rules.LabelChild] }); i >= 0 {
			return keepsChild(r.Children[i])
		}
	}
	return false
}

// keepsChild reports whether a child is left alone once it exists.
func keepsChild(c *rules.Child) bool { return c.OnChange == rules.Keep || c.Timeout > 0 }

// owned gives the rules the live objects of one child.
func (p *diffPass) owned(r *rules.Rule, c *rules.Child) (out []rules.Live) {
	for _, o := range p.belongings(c.GVK) {
		if marks := o.GetLabels(); marks[rules.LabelRule] == r.Name && marks[rules.LabelChild] == c.ID {
			out = append(out, o.live())
		}
	}
	return out
}

// belongings returns the objects of a kind that belong to the primary.
func (p *diffPass) belongings(gvk schema.GroupVersionKind) (all []*liveObject) {
	family := p.families[gvk]
	if family == nil {
		return nil
	}
	for _, o := range family.byOwner[p.self.GetUID()] {
		if o.belongsTo(p.self) {
			all = append(all, o)
		}
	}
	return all
}

// lookup answers what a rule looks up. Where the cluster cannot be asked, all
// that is rendered is void.
func (p *diffPass) lookup(ctx context.Context, l *rules.Lookup, q rules.Query) ([]map[string]any, error) {
	k := p.kinds[l.GVK]
	if k == nil {
		return nil, rules.ErrUnwatched
	}
	switch {
	case !k.Namespaced:
		q.Namespace = ""
	case q.Everywhere && q.Name != "":
		return nil, fmt.Errorf("namespace is empty: %s is namespaced, and a name is that of one object in one namespace", l.GVK.Kind)
	case q.Everywhere:
		q.Namespace = ""
	case q.Namespace == "":
		return nil, fmt.Errorf("namespace is missing: %s is namespaced and the resource is not", l.GVK.Kind)
	}
	found, err := p.search(ctx, k, q)
	if err != nil {
		p.fail(fmt.Errorf("lookup %q: %w", l.ID, err))
		return nil, rules.ErrUnwatched
	}
	out := make([]map[string]any, len(found))
	for i, o := range found {
		out[i] = o.Object
	}
	return out, nil
}

func (p *diffPass) search(ctx context.Context, k *engine.Kind, q rules.Query) ([]*liveObject, error) {
	if q.Name != "" {
		o, err := p.differ.cluster.object(ctx, k, q.Namespace, q.Name)
		if o == nil {
			return nil, err
		}
		return []*liveObject{o}, nil
	}
	// One list serves all primaries, whatever they select.
	all, err := p.differ.cluster.list(ctx, liveQuery{kind: *k, namespace: q.Namespace})
	if err != nil {
		return nil, err
	}
	var found []*liveObject
	for _, o := range all {
		if q.Selector.Matches(rules.LabelsOf(o.Object)) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, byNamespacedName)
	return found, nil
}

// contest takes back the creation of what another primary would create too.
func (p *diffPass) contest(made map[objectRef]string) {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Action != actionCreate {
			continue
		}
		if other, taken := made[c.Object]; taken {
			why := "is made for " + other + " already"
			*c = change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: actionNone, Reason: why}
			p.tell("rule %q, child %q: %s %s", c.Rule, c.Child, c.Object, why)
			continue
		}
		made[c.Object] = refOf(p.self).String()
	}
}

// waitsFor puts what something waits for into words.
func waitsFor(what []string) string { return "waits for " + strings.Join(what, ", ") }
