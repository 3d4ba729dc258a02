package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// A written is all writes to one object, or to one part of a primary.
type written struct {
	writes      []*dryrun.Write
	replacement *dryrun.Write // the dry run that creates the object again
}

func (w *written) first() *dryrun.Write { return w.writes[0] }
func (w *written) last() *dryrun.Write  { return w.writes[len(w.writes)-1] }

// object returns a state of the object that has its kind and name.
func (w *written) object() *unstructured.Unstructured {
	for _, write := range slices.Backward(w.writes) {
		for _, u := range []*unstructured.Unstructured{write.After, write.Before} {
			if u != nil {
				return u
			}
		}
	}
	u := &unstructured.Unstructured{}
	_ = json.Unmarshal(w.last().Body, &u.Object) // The engine builds this body, so it is valid.
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
		i := slices.IndexFunc(all, func(other *written) bool { return other.last().Same(w) && managerOf(other.last()) == managerOf(w) })
		if i < 0 {
			i, all = len(all), append(all, &written{})
		}
		all[i].writes = append(all[i].writes, w)
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

func (p *primaryDiff) add(w *written) {
	c, err := p.about(w)
	if err == nil && w.last().Err != nil {
		p.addRejected(c, w.last())
		return
	}
	if err == nil {
		p.decide(&c, w)
		err = p.show(&c, w)
	}
	switch {
	case err != nil:
		p.fail(&c, err)
	case c.Part == partStatus && c.Diff == "": // No compared field differs.
	default:
		p.changes = append(p.changes, c)
	}
}

// about returns the change that the writes belong to, still without action and
// diff.
func (p *primaryDiff) about(w *written) (change, error) {
	last, u := w.last(), w.object()
	if last.Resource == p.kind.GVR && last.Namespace == p.self.GetNamespace() && last.Name == p.self.GetName() {
		switch rule := p.ruleOfManager(last.Manager); {
		case last.Subresource != "" || last.Manager == managedfields.StatusManager:
			return p.ofSelf(p.rulesWithStatus(), partStatus), nil
		case rule != "":
			return p.ofSelf(rule, partPatch), nil
		}
		rule, err := ruleOfFinalizer(last.Body)
		return p.ofSelf(rule, partFinalizers), err
	}
	ref := objectRef{u.GetAPIVersion(), u.GetKind(), last.Namespace, last.Name}
	marks := u.GetLabels()
	return change{Primary: refOf(p.self), Rule: marks[rules.LabelRule], Child: marks[rules.LabelChild], Object: ref}, nil
}

// ruleOfFinalizer returns the rule that adds or removes its finalizer with this
// merge patch.
func ruleOfFinalizer(body []byte) (string, error) {
	var sent struct {
		Metadata struct{ Annotations map[string]any }
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return "", err
	}
	for key := range sent.Metadata.Annotations {
		if rule, ok := strings.CutPrefix(key, engine.FinalizedPrefix); ok {
			return rule, nil
		}
	}
	return "", nil
}

// decide sets the action, and the reason where the action does not explain itself.
func (p *primaryDiff) decide(c *change, w *written) {
	first, last := w.first(), w.last()
	switch {
	case last.Deletes() && w.replacement != nil:
		c.Action, c.Reason = engine.Replaced, "deleted and created again"
	case last.Deletes():
		c.Action, c.Reason = engine.Deleted, "no rule renders it"
		if p.self.GetDeletionTimestamp() != nil {
			c.Reason = "its resource is being deleted"
		} else if slices.Contains(p.report.Deselected, c.Rule) {
			c.Reason = "the rule no longer selects its resource"
		}
	case first.Before == nil:
		c.Action = engine.Created
		if first.Computed && p.differ.asks() {
			c.Reason = "its namespace does not exist yet: shown without what the API server adds"
		}
	case slices.ContainsFunc(p.report.Adopted, func(id rules.Identity) bool {
		return c.Part == "" && c.Object == objectRef{id.GVK.GroupVersion().String(), id.GVK.Kind, id.Namespace, id.Name}
	}):
		c.Action, c.Reason = engine.Adopted, "it has no controller"
	default:
		c.Action = engine.Configured
	}
}

func (p *primaryDiff) show(c *change, w *written) error {
	before, after := contentOf(w.first().Before), contentOf(w.last().After)
	switch {
	case c.Part == partStatus:
		return c.showStatus(w.first().Before, w.last().After)
	case w.replacement != nil && w.replacement.After != nil:
		after = inPlaceOf(w.last().Before, w.replacement)
	}
	return c.show(before, after)
}

func contentOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

// addRejected adds a write that failed. If the error is not about the object, what
// run would do is unknown.
func (p *primaryDiff) addRejected(c change, w *dryrun.Write) {
	err := engine.WithholdSecret(c.Object.groupKind(), w.Err)
	switch {
	case apierrors.IsConflict(err):
		p.fail(&c, errOutdated)
		return
	case !engine.IsRejection(err):
		p.fail(&c, fmt.Errorf("dry run: %w", err))
		return
	}
	c.Action, c.Reason, c.forbidden = engine.Rejected, "the API server rejects it: "+err.Error(), apierrors.IsForbidden(err)
	switch {
	case c.forbidden:
		c.Reason = err.Error()
	case w.Deletes():
		c.Reason = "the API server rejects the deletion: " + err.Error()
	}
	p.changes = append(p.changes, c)
}

var errOutdated = errors.New("it changed during the comparison; try again")

// inPlaceOf returns the object that replaces another one. It was rehearsed under
// another name: its name, UID and token volume become those of the replaced object.
func inPlaceOf(old *unstructured.Unstructured, rehearsal *dryrun.Write) map[string]any {
	made := rehearsal.After
	names := []string{made.GetName(), old.GetName()}
	if uid := string(made.GetUID()); uid != "" {
		names = append(names, uid, string(old.GetUID()))
	}
	if a, b := tokenVolume(made.Object), tokenVolume(old.Object); a != "" && b != "" {
		names = append(names, a, b)
	}
	renamed, _ := rename(made.Object, strings.NewReplacer(names...)).(map[string]any)
	return renamed
}

// tokenVolume returns the token volume that the API server adds to a Pod, or "".
func tokenVolume(pod map[string]any) string {
	volumes, _, _ := unstructured.NestedSlice(pod, "spec", "volumes")
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if name, _ := volume["name"].(string); strings.HasPrefix(name, "kube-api-access-") {
			return name
		}
	}
	return ""
}

// rename replaces names in all strings: the API server copies some of them into
// labels.
func rename(value any, names *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, v := range value {
			out[key] = rename(v, names)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = rename(v, names)
		}
		return out
	case string:
		return names.Replace(value)
	}
	return value
}
