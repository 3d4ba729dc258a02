package cli

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// A ruleDiff compares what one rule wants of a primary.
type ruleDiff struct {
	*diffPass
	result *rules.RuleResult
	// Nothing is pruned while something is blocked, and what waits for others
	// comes first.
	blocked, delayed bool
}

func (d *ruleDiff) run(ctx context.Context) {
	r, name := d.result, d.result.Rule.Name
	switch {
	case r.Err != nil:
		why := r.Err.Error()
		if r.Err.Reason == rules.InvalidSpec { // The author's message; others name their place.
			why = fmt.Sprintf("rule %q: %s", name, why)
		}
		d.tell("failed: %s", why)
		d.without(d.ofPrimary(), actionFailed, why)
	case r.Leaving:
		d.end(ctx)
	case !r.Matches:
		d.removeAll("the rule is not for its resource any more")
		d.unpatch(ctx)
	case d.unknownKind(r.Rule) != "":
		why := fmt.Sprintf("waits for kind %s, which the API server does not know", d.unknownKind(r.Rule))
		d.tell("rule %q %s", name, why)
		d.skip(d.ofPrimary(), why)
	default:
		d.want(ctx)
	}
}

// want compares in the order in which run applies.
func (d *ruleDiff) want(ctx context.Context) {
	d.holdPrimary()
	for i := range d.result.Children {
		d.child(ctx, &d.result.Children[i])
	}
	d.patch(ctx)
	if err := d.result.StatusErr; err != nil {
		d.failure(d.ofPrimary(), err)
	}
	d.prune()
}

// end compares what a primary with a finalizer goes through that the rule is
// not for any more.
func (d *ruleDiff) end(ctx context.Context) {
	for i := range d.result.Children {
		if c := &d.result.Children[i]; c.Child.Timeout > 0 {
			d.child(ctx, c)
		}
	}
	d.removeAll("the rule is not for its resource any more")
	d.unpatch(ctx)
	d.setFinalizers(without(d.self.GetFinalizers(), rules.Finalizer(d.result.Rule.Name)))
}

// holdPrimary compares the finalizer of the rule.
func (d *ruleDiff) holdPrimary() {
	own, list := rules.Finalizer(d.result.Rule.Name), d.self.GetFinalizers()
	has := slices.Contains(list, own)
	switch needs := d.result.NeedsFinalizer(); {
	case needs && !has:
		d.setFinalizers(append(slices.Clone(list), own))
	case !needs && has && d.dispensable():
		d.setFinalizers(without(list, own))
	}
}

// dispensable reports whether nothing is left for which the primary needs the
// finalizer.
func (d *ruleDiff) dispensable() bool {
	for i := range d.result.Children {
		if s := d.result.Children[i].State; s != rules.Rendered && s != rules.Excluded {
			return false
		}
	}
	return !slices.ContainsFunc(d.remains(), func(o *liveObject) bool {
		return metav1.GetControllerOf(o) == nil && !d.stays(o)
	})
}

func without(list []string, entry string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == entry })
}

func (d *ruleDiff) setFinalizers(list []string) {
	after := d.self.DeepCopy()
	after.SetFinalizers(list)
	if len(list) == 0 {
		unstructured.RemoveNestedField(after.Object, "metadata", "finalizers")
	}
	c := d.ofPrimary()
	c.Reason = "finalizer"
	d.add(c, actionPatch, d.self.Object, after.Object)
}

// ofPrimary returns a change of the primary itself.
func (d *ruleDiff) ofPrimary() change {
	return change{Primary: refOf(d.self), Rule: d.result.Rule.Name, Object: refOf(d.self)}
}

// ofChild returns a change of an object of a child.
func (d *ruleDiff) ofChild(c *rules.Child, id rules.Identity) change {
	apiVersion, kind := c.GVK.ToAPIVersionAndKind()
	return change{Primary: refOf(d.self), Rule: d.result.Rule.Name, Child: c.ID,
		Object: objectRef{apiVersion, kind, id.Namespace, id.Name}}
}

// remains returns the objects that belong to the primary and that the rule has
// made, by kind.
func (d *ruleDiff) remains() (all []*liveObject) {
	for _, gvk := range d.differ.childKinds(d.result.Rule) {
		for _, o := range d.belongings(gvk) {
			same := func(other *liveObject) bool { return other.GetUID() == o.GetUID() } // In another version.
			if o.GetLabels()[rules.LabelRule] == d.result.Rule.Name && !o.terminating() && !slices.ContainsFunc(all, same) {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *liveObject) int { return d.stage(a) - d.stage(b) })
	return all
}

// stage orders what is deleted: what the rule does not know any more, then what
// depends on others before those, and the entries of finalize last.
func (d *ruleDiff) stage(o *liveObject) int {
	rule := d.result.Rule
	i := slices.IndexFunc(rule.Children, func(c *rules.Child) bool { return c.ID == o.GetLabels()[rules.LabelChild] })
	switch {
	case i >= 0 && rule.Children[i].Timeout > 0:
		return len(rule.Children) + 1
	case i < 0 || !rule.Ordered:
		return 0
	}
	return len(rule.Children) - i
}

// stays reports whether an object outlives its primary.
func (d *ruleDiff) stays(o *liveObject) bool {
	return o.GetAnnotations()[rules.AnnotationOrphan] == "true" || slices.ContainsFunc(d.result.Rule.Children, func(c *rules.Child) bool {
		return c.OnDelete == rules.Orphan && c.ID == o.GetLabels()[rules.LabelChild]
	})
}

// removeAll compares with the deletion of all that the rule has made and that
// no other rule wants.
func (d *ruleDiff) removeAll(why string) {
	for _, o := range d.remains() {
		if !d.stays(o) && !d.elsewhere(o) {
			d.remove(o, why)
		}
	}
}

// prune compares with the deletion of what no rule renders any more. A failure
// never leaves less than there was before.
func (d *ruleDiff) prune() {
	for _, o := range d.remains() {
		switch {
		case d.wants(o):
		case d.out.MayRender(d.result.Rule, o.GetLabels()[rules.LabelChild], o.identity()) != "":
			why := "its rule renders it no more; it stays until it is known whether another rule does"
			d.tell("rule %q, %s: %s", d.result.Rule.Name, refOf(o), why)
			d.skip(d.ofObject(o), why)
		case d.blocked:
			why := "no rule renders it any more; it stays until everything else of the rule can be applied"
			d.tell("rule %q, %s: %s", d.result.Rule.Name, refOf(o), why)
			d.skip(d.ofObject(o), why)
		case d.delayed:
			d.remove(o, "no rule renders it any more; deleted when nothing of the rule waits")
		default:
			d.remove(o, "no rule renders it any more")
		}
	}
}

func (d *ruleDiff) remove(o *liveObject, why string) {
	c := d.ofObject(o)
	c.Reason = why
	d.add(c, actionDelete, o.Object, nil)
}

// ofObject returns a change of an object that the rule has made.
func (d *ruleDiff) ofObject(o *liveObject) change {
	return change{Primary: refOf(d.self), Rule: d.result.Rule.Name, Child: o.GetLabels()[rules.LabelChild], Object: refOf(o)}
}

// mostFinishedKept is how many replicas that have ended run keeps.
const mostFinishedKept = 5

// wants reports whether any rule renders an object for the primary, or would
// if it could.
func (p *diffPass) wants(o *liveObject) bool {
	for i := range p.out.Rules {
		if rendersObject(&p.out.Rules[i], o) {
			return true
		}
	}
	return false
}

// elsewhere reports whether a rule that stays with the primary wants an object.
func (d *ruleDiff) elsewhere(o *liveObject) bool {
	for i := range d.out.Rules {
		r := &d.out.Rules[i]
		if r != d.result && r.Matches && !r.Leaving && rendersObject(r, o) {
			return true
		}
	}
	return false
}

// rendersObject reports whether a rule renders an object or keeps it, in
// whichever version of its kind.
func rendersObject(r *rules.RuleResult, o *liveObject) bool {
	id := o.identity()
	for i := range r.Children {
		c := &r.Children[i]
		for j := range c.Objects {
			other := c.Objects[j].Identity
			if c.Objects[j].State != rules.Excluded && other.GVK.GroupKind() == id.GVK.GroupKind() &&
				other.Namespace == id.Namespace && other.Name == id.Name {
				return true
			}
		}
		for _, ended := range c.Finished[:min(len(c.Finished), mostFinishedKept)] {
			metadata, _ := ended.Object["metadata"].(map[string]any)
			if metadata["uid"] == string(o.GetUID()) {
				return true
			}
		}
	}
	return false
}
