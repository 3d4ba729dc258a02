package change

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// A written object has the writes to one object, or to one part of a primary.
type written struct {
	first, last *dryrun.Write
	// replacement is the rehearsal of the object that replaces a deleted one.
	replacement *dryrun.Write
}

// object returns a state of the object that has its kind and labels.
func (w *written) object() *unstructured.Unstructured {
	if u := cmp.Or(w.last.After, w.last.Before, w.first.After); u != nil {
		return u
	}
	u := &unstructured.Unstructured{}
	_ = json.Unmarshal(w.last.Body, &u.Object) // The engine builds this body, so it is valid.
	return u
}

// writtenObjects groups writes by object. It drops a creation whose name is taken:
// another write follows, or a finding explains it. It also drops a deletion of an
// object that no longer exists. A rehearsal belongs to the deletion after it.
func writtenObjects(writes []*dryrun.Write) (all []*written) {
	var rehearsal *dryrun.Write
	for _, w := range writes {
		switch {
		case w.Rehearsal:
			rehearsal = w
			continue
		case w.Creates() && (apierrors.IsConflict(w.Err) || apierrors.IsAlreadyExists(w.Err)):
			continue
		case w.Deletes() && apierrors.IsNotFound(w.Err):
			continue
		}
		i := slices.IndexFunc(all, func(other *written) bool {
			return other.last.Target == w.Target && managerOf(other.last) == managerOf(w)
		})
		if i < 0 {
			i, all = len(all), append(all, &written{first: w})
		}
		all[i].last = w
		if w.Deletes() {
			all[i].replacement, rehearsal = rehearsal, nil
		}
	}
	return all
}

// managerOf returns the field manager of a write. A primary has several, which
// write different parts; a child has one.
func managerOf(w *dryrun.Write) string {
	if strings.HasPrefix(w.Manager, managedfields.Manager+"/") {
		return w.Manager
	}
	return managedfields.Manager
}

// action returns what the writes do to the object.
func (w *written) action() outcome.Action {
	switch {
	case w.last.Deletes():
		return outcome.Deleted
	case w.first.Before == nil:
		return outcome.Created
	}
	return outcome.Configured
}

// add adds the change that the writes to an object make.
func (p *Primary) add(w *written) {
	if p.rules.ForCluster() && p.isSelf(w) {
		return // The ConfigMap of a bundle only shows its state.
	}
	c := p.about(w)
	if w.last.Err != nil {
		p.addRejected(c, w.last)
		return
	}
	p.explain(&c, w)
	c.show(w)
	if c.Part != StatusPart || c.Before != nil || c.After != nil { // Else no compared field differs.
		p.Changes = append(p.Changes, c)
	}
}

// about returns the change that the writes belong to, still without action and
// diff.
func (p *Primary) about(w *written) Change {
	last := w.last
	if !p.isSelf(w) {
		u := w.object()
		ref := Object{u.GetAPIVersion(), u.GetKind(), last.Namespace, last.Name}
		marks := u.GetLabels()
		return Change{Primary: p.Object(), Rule: marks[rules.LabelRule], Child: marks[rules.LabelChild], Object: ref}
	}
	if last.Subresource != "" || last.Manager == managedfields.StatusManager ||
		managedfields.IsAnnotationManager(last.Manager) {
		return p.ofSelf(p.rulesWithStatus(), StatusPart)
	}
	if rule, patches := managedfields.RuleOfPatch(last.Manager); patches {
		return p.ofSelf(rule, patchPart)
	}
	return p.ofMetadata(w)
}

// isSelf reports whether the writes are to the primary itself.
func (p *Primary) isSelf(w *written) bool {
	last := w.last
	return last.Resource == p.kind.GVR && last.Namespace == p.request.Namespace && last.Name == p.request.Name
}

// rulesWithStatus returns the rules that may have written the status.
func (p *Primary) rulesWithStatus() string {
	var names []string
	for _, r := range p.rules.Rules {
		if len(r.StatusKeys) > 0 || r.SetsConditions() || r.Annotates {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, ",")
}

// ofMetadata returns the change of a merge patch that sets the finalizers of the primary, or what a rule remembers on
// it.
func (p *Primary) ofMetadata(w *written) Change {
	rule, of := "", finalizersPart
	for key := range sentAnnotations(w.last) {
		if name, done := strings.CutPrefix(key, rules.DonePrefix); done {
			rule = name
			before, after := w.first.Before, w.last.After
			if before != nil && after != nil && slices.Equal(before.GetFinalizers(), after.GetFinalizers()) {
				of = donePart
			}
		} else if name, ok := strings.CutPrefix(key, decide.FinalizedPrefix); ok {
			rule = name
		}
	}
	return p.ofSelf(rule, of)
}

// sentAnnotations returns the annotations that a merge patch sets, or removes with a null.
func sentAnnotations(w *dryrun.Write) map[string]any {
	if w.Patch != types.MergePatchType {
		return nil
	}
	var sent struct {
		Metadata struct{ Annotations map[string]any }
	}
	_ = json.Unmarshal(w.Body, &sent) // The engine builds this body, so it is valid.
	return sent.Metadata.Annotations
}

// shareSent returns the owner whose part in a shared object a write sets or removes.
func shareSent(w *dryrun.Write) (owner types.UID, leaves, found bool) {
	for key, value := range sentAnnotations(w) {
		if uid, isShare := strings.CutPrefix(key, rules.SharePrefix); isShare {
			return types.UID(uid), value == nil, true
		}
	}
	return "", false, false
}

// explain sets the action, and the reason where the action does not explain itself.
func (p *Primary) explain(c *Change, w *written) {
	c.Action = w.action()
	switch {
	case c.Action == outcome.Deleted && w.replacement != nil:
		c.Action, c.Reason = outcome.Replaced, "deleted and created again"
	case c.Action == outcome.Deleted:
		c.Reason = "no rule renders it"
		if p.ending {
			c.Reason = "its resource is being deleted"
		} else if slices.Contains(p.Report.Deselected, c.Rule) {
			c.Reason = "the rule no longer selects its resource"
		}
	case c.Action == outcome.Created && w.first.Unasked:
		c.Reason = "its namespace does not exist yet: shown without what the API server adds"
	case c.Action == outcome.Created:
	case c.Part == "" && p.takes(c):
	case c.withdraws(w):
		c.Action, c.Reason = outcome.Left, "it is an object of others and stays, without the fields of the rule"
	default:
		if _, leaves, found := shareSent(w.last); found {
			c.explainShare(w, leaves)
		}
	}
}

// takes explains the first write of an object that reconcel has not created, and reports whether it is one.
func (p *Primary) takes(c *Change) bool {
	at := slices.IndexFunc(p.Report.Taken, func(t access.Taken) bool { return c.Object == ObjectWithID(t.ID) })
	if at < 0 {
		return false
	}
	c.Action = p.Report.Taken[at].As
	switch {
	case c.Action == outcome.Extended:
		c.Reason = "others have it, and it gets the fields of the template"
	case p.rules.ForCluster():
		c.Reason = "no other resource or rule has it"
	default:
		c.Reason = "it has no controller"
	}
	return true
}

// withdraws reports whether a write removes the fields of a rule from an object of others.
func (c *Change) withdraws(w *written) bool {
	if w.first.Before == nil || w.last.After == nil || c.Part != "" {
		return false
	}
	before, after := w.first.Before.GetAnnotations(), w.last.After.GetAnnotations()
	return before[rules.AnnotationShared] == rules.SharedExtended && before[rules.AnnotationApplied] != "" &&
		after[rules.AnnotationApplied] == ""
}

// explainShare sets the action of a write of an owner's part in a shared object.
func (c *Change) explainShare(w *written, leaves bool) {
	c.Action, c.Reason = outcome.Shared, "other resources of the rule have it, too"
	switch {
	case leaves && len(rules.SharesOf(w.last.After.Object)) > 0:
		c.Action, c.Reason = outcome.Left, "other resources of the rule still have it"
	case leaves:
		c.Action, c.Reason = outcome.Left, "it stays as it is"
	}
}

// addRejected adds a write that failed. If the error is not about the object, what
// run would do is unknown.
func (p *Primary) addRejected(c Change, w *dryrun.Write) {
	err := outcome.WithholdSecret(c.Object.groupKind(), w.Err)
	switch {
	case apierrors.IsConflict(err):
		p.fail(&c, errOutdated)
		return
	case !outcome.IsRejection(err):
		p.fail(&c, fmt.Errorf("dry run: %w", err))
		return
	}
	c.Action, c.Reason, c.forbidden = outcome.Rejected, "the API server rejects it: "+err.Error(),
		apierrors.IsForbidden(err)
	switch {
	case c.forbidden:
		c.Reason = err.Error()
	case w.Deletes():
		c.Reason = "the API server rejects the deletion: " + err.Error()
	}
	p.Changes = append(p.Changes, c)
}

var errOutdated = errors.New("it changed during the comparison; try again")

// builtInConditions follow from the result of the reconciliation, and are not
// compared.
var builtInConditions = []string{"Ready", "Reconciling", "Stalled"}

// showStatus sets both states of the status. They stay nil if no compared field
// differs.
func (c *Change) showStatus(before, after *unstructured.Unstructured) {
	c.Before, c.After = comparedStatus(before), comparedStatus(after)
	compareAnnotation(c.Before, before, after)
	compareAnnotation(c.After, after, before)
	if reflect.DeepEqual(c.Before, c.After) {
		c.Before, c.After = nil, nil
	}
}

// compareAnnotation adds the annotation that reports the status to the compared fields of
// one of two objects, if the other one does not have it. Its value follows from the result
// of the reconciliation, like the built-in conditions.
func compareAnnotation(compared map[string]any, of, other *unstructured.Unstructured) {
	value, found := of.GetAnnotations()[rules.AnnotationStatus]
	if _, both := other.GetAnnotations()[rules.AnnotationStatus]; found && !both {
		_ = unstructured.SetNestedField(compared, value, "metadata", "annotations",
			rules.AnnotationStatus) // metadata is a map.
	}
}

// comparedStatus returns the compared fields of an object's status.
func comparedStatus(u *unstructured.Unstructured) map[string]any {
	metadata := map[string]any{"name": u.GetName()}
	if ns := u.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
	out := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": metadata}
	live, _ := u.Object["status"].(map[string]any)
	status := maps.Clone(live)
	delete(status, "conditions")
	list, _ := live["conditions"].([]any)
	if conditions := comparedConditions(list); len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) > 0 {
		out["status"] = status
	}
	return out
}

// comparedConditions returns conditions by type, without times, generations and
// the built-in types.
func comparedConditions(list []any) (all []any) {
	for _, c := range list {
		entry, ok := c.(map[string]any)
		if !ok || slices.Contains(builtInConditions, typeOf(entry)) {
			continue
		}
		out := map[string]any{}
		for _, key := range []string{"type", "status", "reason", "message"} {
			if value, ok := entry[key]; ok && value != "" {
				out[key] = value
			}
		}
		all = append(all, out)
	}
	slices.SortFunc(all, func(a, b any) int { return cmp.Compare(typeOf(a), typeOf(b)) })
	return all
}

func typeOf(condition any) string {
	entry, _ := condition.(map[string]any)
	text, _ := entry["type"].(string)
	return text
}
