//go:build integration

package examples

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
)

// mendsEdits edits every child, and waits until it is repaired.
func (w *world) mendsEdits(reference state) {
	w.Helper()
	for _, u := range w.made() {
		c := w.childOf(u.GetLabels())
		if c.OnChange == "keep" {
			w.Logf("%s is not edited: it is kept as it is", describe(&u))
			continue
		}
		edited := w.edit(u, c)
		w.Logf("%s: %s", describe(&u), edited)
		w.eventually(fmt.Sprintf("%s to be mended after %s", describe(&u), edited), func() error { return w.is(reference) })
	}
}

// mendsDeletions deletes every child, and waits until it is created again.
func (w *world) mendsDeletions(reference state) {
	w.Helper()
	for _, u := range w.made() {
		if finished(&u) {
			w.Logf("%s is not deleted: it has finished, and is not created again", describe(&u))
			continue
		}
		if marks := u.GetAnnotations(); marks[rules.AnnotationShared] == rules.SharedExtended && marks[rules.AnnotationCreated] == "" {
			w.Logf("%s is not deleted: it is one of others, and would be another one", describe(&u))
			continue
		}
		if live, err := w.live(&u); err != nil || live.GetUID() != u.GetUID() {
			continue // It was deleted together with another child.
		}
		w.delete(&u)
		w.eventually("another "+describe(&u), func() error {
			if live, err := w.live(&u); err == nil && live.GetUID() == u.GetUID() {
				return errors.New("the old one is still there")
			}
			return w.is(reference)
		})
	}
}

// finished reports whether an object is a Job that has finished.
func finished(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return u.GetKind() == "Job" && slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["status"] == "True" && (condition["type"] == "Complete" || condition["type"] == "Failed")
	})
}

// edit changes a child as a user may who does not know its owner. It removes reconcel's
// labels, and changes one field that reconcel owns. It returns a description.
func (w *world) edit(u unstructured.Unstructured, c child) string {
	w.Helper()
	leaves := w.ownLeaves(&u)
	var refused []string
	for _, path := range leaves {
		if path.under(c.others()) {
			continue
		}
		edited := unlabelled(&u)
		if !path.change(edited) {
			continue
		}
		after, err := w.of(&u).Update(w.Context(), edited, metav1.UpdateOptions{FieldManager: "editor"})
		switch {
		case apierrors.IsConflict(err): // The child's own controller was faster.
			if live, err := w.live(&u); err == nil {
				return w.edit(*live, c)
			}
		case err != nil:
			refused = append(refused, path.String())
			continue
		}
		if cmp.Equal(content(after), content(&u)) {
			refused = append(refused, path.String()) // The API server reverted the change.
			continue
		}
		return "an edit of " + path.String() + " and the labels"
	}
	// Only the metadata of this object can change.
	edited := unlabelled(&u)
	if _, err := w.of(&u).Update(w.Context(), edited, metav1.UpdateOptions{FieldManager: "editor"}); err != nil {
		w.Fatalf("edit %s: %v", describe(&u), err)
	}
	return fmt.Sprintf("an edit of its labels (others refused: %v)", refused)
}

// unlabelled returns a copy without reconcel's labels, including those that its watches
// and Events need.
func unlabelled(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	labels := u.GetLabels()
	maps.DeleteFunc(labels, func(name, _ string) bool { return ours(u, name) })
	u.SetLabels(labels)
	return u
}

// content is an object without its metadata.
func content(u *unstructured.Unstructured) map[string]any {
	rest := maps.Clone(u.Object)
	delete(rest, "metadata")
	delete(rest, "status")
	return rest
}

// ours reports whether reconcel's managedFields entry has a label.
func ours(u *unstructured.Unstructured, label string) bool {
	_, found, _ := unstructured.NestedMap(ownEntry(u), "f:metadata", "f:labels", "f:"+label)
	return found
}

// ownEntry returns reconcel's managedFields entry for its applies.
func ownEntry(u *unstructured.Unstructured) map[string]any {
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == "reconcel" && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			var set map[string]any
			if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err == nil {
				return set
			}
		}
	}
	return nil
}

// leaf is the path to one field, in the notation of managedFields.
type leaf []string

// String implements fmt.Stringer.
func (l leaf) String() string { return strings.ReplaceAll(strings.Join(l, "."), "f:", "") }

// under reports whether the field is one of these fields, or within one.
func (l leaf) under(fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		return l.String() == field || strings.HasPrefix(l.String(), field+".")
	})
}

// ownLeaves returns the fields of a child that reconcel owns, except for metadata. The
// shortest come first.
func (w *world) ownLeaves(u *unstructured.Unstructured) (leaves []leaf) {
	w.Helper()
	set := ownEntry(u)
	if set == nil {
		w.Fatalf("%s: reconcel has set nothing in it", describe(u))
	}
	delete(set, "f:metadata")
	var walk func(path leaf, set map[string]any)
	walk = func(path leaf, set map[string]any) {
		if len(set) == 0 && len(path) > 0 {
			leaves = append(leaves, slices.Clone(path))
		}
		for _, key := range slices.Sorted(maps.Keys(set)) {
			if below, ok := set[key].(map[string]any); ok && key != "." {
				walk(append(path, key), below)
			}
		}
	}
	walk(nil, set)
	slices.SortStableFunc(leaves, func(a, b leaf) int { return len(a) - len(b) })
	return leaves
}

// change sets the field to another value of the same type, and reports whether that was
// possible.
func (l leaf) change(u *unstructured.Unstructured) bool {
	var in any = u.Object
	for _, step := range l[:len(l)-1] {
		if in = stepInto(in, step); in == nil {
			return false
		}
	}
	fields, ok := in.(map[string]any)
	name, isField := strings.CutPrefix(l[len(l)-1], "f:")
	if !ok || !isField {
		return false
	}
	changed, ok := another(fields[name])
	if u.GetKind() == "Secret" && l[0] == "f:data" {
		changed = base64.StdEncoding.EncodeToString([]byte("edited"))
	}
	fields[name] = changed
	return ok
}

// another returns a different value that is probably valid, too.
func another(value any) (changed any, ok bool) {
	switch value := value.(type) {
	case string:
		if n, err := strconv.Atoi(value); err == nil {
			return strconv.Itoa(n + 1), true
		}
		return value + "-edited", true
	case int64:
		return value + 1, true
	case bool:
		return !value, true
	case []any:
		if len(value) > 0 {
			return value[:len(value)-1], true
		}
	case map[string]any:
		if keys := slices.Sorted(maps.Keys(value)); len(keys) > 0 {
			fewer := maps.Clone(value)
			delete(fewer, keys[0])
			return fewer, true
		}
	}
	return value, false
}

// stepInto follows one step: f:name into a field, or k:{"name":"x"} into the list item
// with these values.
func stepInto(in any, step string) any {
	if name, ok := strings.CutPrefix(step, "f:"); ok {
		fields, _ := in.(map[string]any)
		return fields[name]
	}
	keys, ok := strings.CutPrefix(step, "k:")
	if !ok {
		return nil
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(keys), &want); err != nil {
		return nil
	}
	items, _ := in.([]any)
	for _, item := range items {
		fields, _ := item.(map[string]any)
		same := true
		for key, value := range want {
			same = same && fmt.Sprint(fields[key]) == fmt.Sprint(value)
		}
		if same {
			return item
		}
	}
	return nil
}
