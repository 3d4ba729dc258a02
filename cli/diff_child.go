package cli

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine"
	"reconcel/rules"
)

// A wanted is one object that a rule wants.
type wanted struct {
	*ruleDiff
	desired *rules.Desired
	kind    *engine.Kind
	change  change // as far as it is known
}

// child compares the objects of one child.
func (d *ruleDiff) child(ctx context.Context, c *rules.ChildResult) {
	switch c.State {
	case rules.Excluded:
		return
	case rules.Waiting, rules.Failed:
		d.blocked = true
		d.unresolved(d.ofChild(c.Child, rules.Identity{}), fmt.Sprintf("child %q", c.Child.ID), c.Waits, c.Err)
		return
	}
	for i := range c.Objects {
		w := &wanted{ruleDiff: d, desired: &c.Objects[i], kind: d.kinds[c.Child.GVK], change: d.ofChild(c.Child, c.Objects[i].Identity)}
		switch w.desired.State {
		case rules.Excluded:
		case rules.Waiting, rules.Failed:
			d.blocked = true
			d.unresolved(w.change, w.desired.Subject(), w.desired.Waits, w.desired.Err)
		default:
			w.compare(ctx)
		}
	}
}

// unresolved says why it is not known how something should be.
func (d *ruleDiff) unresolved(c change, subject string, waits []string, err *rules.Failure) {
	if err != nil {
		d.failure(c, err)
		return
	}
	d.tell("rule %q, %s: %s", d.result.Rule.Name, subject, waitsFor(waits))
	d.skip(c, waitsFor(waits))
}

// failure keeps that an expression of the rule fails. The error names its
// position.
func (d *ruleDiff) failure(c change, err error) {
	d.tell("failed: %v", err)
	d.without(c, actionFailed, err.Error())
}

// fails keeps that the object cannot be as the rule wants it, whatever the
// cluster says. The rule then prunes nothing.
func (w *wanted) fails(format string, args ...any) {
	w.block(actionFailed, fmt.Sprintf(format, args...))
}

// refuses keeps that the cluster does not take the object. The rule then prunes
// nothing.
func (w *wanted) refuses(format string, args ...any) {
	w.block(actionRefused, fmt.Sprintf(format, args...))
}

func (w *wanted) block(what action, why string) {
	w.blocked = true
	w.tell("%s: rule %q, %s (%s): %s", what, w.result.Rule.Name, w.desired.Subject(), w.change.Object, why)
	w.without(w.change, what, why)
}

// delay keeps why nothing is done about the object yet. run comes back to it.
func (w *wanted) delay(format string, args ...any) {
	w.delayed = true
	why := fmt.Sprintf(format, args...)
	w.tell("rule %q, %s (%s): %s", w.result.Rule.Name, w.desired.Subject(), w.change.Object, why)
	w.skip(w.change, why)
}

// compare follows what run does about an object, in the same order.
func (w *wanted) compare(ctx context.Context) {
	d := w.desired
	if why := w.outOfScope(); why != "" {
		w.fails("%s", why)
		return
	}
	switch o := w.find(d.Identity); {
	case o == nil && len(d.Waits) > 0:
		w.delay("not created yet: %s", waitsFor(d.Waits))
	case o == nil:
		w.create(ctx)
	case o.terminating():
		w.delay("waits for the end of the object that is being deleted")
	case w.ours(o):
		w.inPlace(ctx, o)
	case d.Child.Adopt && w.adoptable(o) && len(d.Waits) > 0:
		w.delay("not taken over yet: %s", waitsFor(d.Waits))
	default:
		w.takeOver(ctx, o)
	}
}

// outOfScope says why the rule may not write the object.
func (w *wanted) outOfScope() string {
	kind := w.kind.GVK.Kind
	switch allowed := w.desired.Child.Allowed(); {
	case w.kind.Namespaced && allowed:
		return kind + " is namespaced: take it out of allow.clusterScoped"
	case w.kind.Namespaced && w.desired.Identity.Namespace == "":
		return "metadata.namespace is missing, " + kind + " is namespaced"
	case !w.kind.Namespaced && !allowed:
		return kind + " is cluster-scoped: the rule may write it only if allow.clusterScoped names it"
	}
	return ""
}

// ours reports whether an object belongs to the primary. Where it has lost its
// owner, the hash on it tells, which covers the owner's UID.
func (w *wanted) ours(o *liveObject) bool {
	if o.belongsTo(w.self) {
		return true
	}
	switch o.owner().UID {
	case "":
		return w.carries(o) || w.abandoned(o)
	case w.self.GetUID():
		return w.carries(o)
	}
	return false
}

// carries reports whether the object was last applied from this rendering.
func (w *wanted) carries(o *liveObject) bool { return o.applied() == w.desired.HashString() }

// inPlace compares with an object that belongs to the primary.
func (w *wanted) inPlace(ctx context.Context, o *liveObject) {
	d := w.desired
	switch {
	case keepsChild(d.Child):
	case !w.carries(o) && len(d.Waits) > 0:
		w.delay("not changed yet: %s", waitsFor(d.Waits))
	case d.Child.OnChange == rules.Replace && !w.carries(o) && o.applied() != unmarkedObject:
		w.replace(ctx, o)
	default:
		w.update(ctx, o)
	}
}

// create compares with nothing, unless the name turns out to be taken.
func (w *wanted) create(ctx context.Context) {
	d := w.desired
	fields, err := d.Ignored()
	if err != nil {
		w.fails("%v", err)
		return
	}
	body, err := d.Complete("", "1", fields)
	if err != nil {
		w.fails("%v", err)
		return
	}
	answer, err := w.apply(ctx, w.target(), body)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		w.occupied(ctx)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		w.delay("its namespace is being deleted")
	case apierrors.IsNotFound(err) && w.kind.Namespaced:
		w.createUnasked()
	case err != nil:
		w.refused(err, "")
	default:
		w.add(w.change, actionCreate, nil, answer.Object)
	}
}

// createUnasked shows what cannot be tried because its namespace is about to be
// made, too.
func (w *wanted) createUnasked() {
	object, err := w.desired.Whole()
	if err != nil {
		w.fails("%v", err)
		return
	}
	w.delayed = true
	w.change.Reason = "its namespace does not exist yet: without what the API server adds"
	w.add(w.change, actionCreate, nil, object)
}

// occupied compares with the object that has the name.
func (w *wanted) occupied(ctx context.Context) {
	id := w.desired.Identity
	o, err := w.differ.cluster.object(ctx, w.kind, id.Namespace, id.Name)
	switch {
	case err != nil:
		w.fail(err)
		w.blocked = true
	case o == nil:
		w.delay("it has just been deleted")
	case o.terminating():
		w.delay("waits for the end of the object that is being deleted")
	case w.ours(o):
		w.inPlace(ctx, o)
	default:
		w.takeOver(ctx, o)
	}
}

// takeOver compares with an object that is not ours, if the rule adopts it.
func (w *wanted) takeOver(ctx context.Context, o *liveObject) {
	d := w.desired
	if !d.Child.Adopt || !w.adoptable(o) {
		w.refuses("it exists and is %s; it is left alone, remove or rename it", o.holder())
		return
	}
	body := d.AppendApply(nil, string(o.GetUID()), o.GetResourceVersion())
	if keepsChild(d.Child) {
		var err error
		if body, err = rules.Marks(body); err != nil {
			w.fails("%v", err)
			return
		}
	}
	answer, err := w.apply(ctx, w.target(), body)
	if err != nil {
		w.refused(err, w.remedy())
		return
	}
	w.change.Reason = "taken over: nobody controls it"
	w.add(w.change, actionUpdate, o.Object, answer.Object)
}

// adoptable reports whether nobody has the object. One that is tracked by a
// primary of the same kind, namespace and name was left behind by that.
func (w *wanted) adoptable(o *liveObject) bool {
	if _, controlled := rules.ControllerOf(o.Object); controlled {
		return false
	}
	former := o.owner()
	if former == (rules.Owner{}) {
		_, marked := o.GetAnnotations()[rules.AnnotationOwner]
		return !marked // One that cannot be read may be somebody's.
	}
	self := rules.Owner{Kind: w.primary.GVK.GroupKind(), Namespace: w.self.GetNamespace(), Name: w.self.GetName(), UID: former.UID}
	return former == self
}

// update compares with an object of ours that is applied as it is.
func (w *wanted) update(ctx context.Context, o *liveObject) {
	d := w.desired
	body := d.AppendApply(nil, string(o.GetUID()), "")
	if fields := ignoredOf(d.Child, o); len(fields) > 0 {
		var err error
		if body, err = d.Complete(string(o.GetUID()), o.GetResourceVersion(), fields); err != nil {
			w.fails("%v", err)
			return
		}
	}
	answer, err := w.apply(ctx, w.target(), body)
	switch {
	case apierrors.IsInvalid(err) && d.Child.OnChange == rules.Replace && len(d.Waits) > 0:
		w.delay("not replaced yet: %s", waitsFor(d.Waits))
	case apierrors.IsInvalid(err) && d.Child.OnChange == rules.Replace:
		w.replace(ctx, o)
	case err != nil:
		w.refused(err, w.remedy())
	default:
		w.add(w.change, actionUpdate, o.Object, answer.Object)
	}
}

// ignoredOf returns the ignored fields that are still ours, with their values:
// an apply without them would reset them.
func ignoredOf(c *rules.Child, o *liveObject) (fields []rules.FieldValue) {
	tree := o.owned(engine.FieldManager, "")
	for _, path := range c.IgnoredPaths() {
		if !ownsField(tree, path) {
			continue
		}
		if value, found, err := unstructured.NestedFieldNoCopy(o.Object, path...); found && err == nil {
			fields = append(fields, rules.FieldValue{Path: path, Value: value})
		}
	}
	return fields
}

// replace compares with what is made in the place of an object.
func (w *wanted) replace(ctx context.Context, o *liveObject) {
	if o.owner().UID == "" {
		w.refuses("it exists and is %s; it is left alone, remove or rename it", o.holder())
		return
	}
	object, err := w.desired.Whole()
	if err != nil {
		w.fails("%v", err)
		return
	}
	answer, err := w.createAnew(ctx, object, o)
	if err != nil {
		w.refused(err, "")
		return
	}
	w.change.Reason = "deleted and created anew"
	w.add(w.change, actionReplace, o.Object, answer)
}

// remedy says what can be done about a change that is refused.
func (w *wanted) remedy() string {
	if w.desired.Child.OnChange == rules.Apply && !keepsChild(w.desired.Child) {
		return "; if this cannot be changed in place write onChange: replace"
	}
	return ""
}

// refused decides about a dry run that has failed: what the API server finds
// wrong with an object is said, as run would meet it as well. Anything else
// leaves open what run would do.
func (w *wanted) refused(err error, remedy string) {
	if !isRefusal(err) {
		w.blocked = true
		w.fail(fmt.Errorf("rule %q, %s (%s): dry run: %w", w.result.Rule.Name, w.desired.Subject(), w.change.Object, err))
		return
	}
	if !apierrors.IsInvalid(err) {
		remedy = ""
	}
	w.refuses("the API server refuses it%s: %v", remedy, err)
}
