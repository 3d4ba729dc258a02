package ruletest

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/source"
)

// An Expectation is a check at the end of a step.
type Expectation interface {
	prepare(p *preparer)
	// check returns the differences from what is expected. An error means that
	// the check could not run.
	check(ctx context.Context, p *player) ([]Failure, error)
}

// A Failure is one difference from what is expected.
type Failure struct {
	Pos     source.Pos // of the expectation
	Message string     // begins with its subject
	Diff    string     // of the expected and the actual value, or ""
}

func failureAt(pos source.Pos, format string, args ...any) []Failure {
	return []Failure{{Pos: pos, Message: fmt.Sprintf(format, args...)}}
}

func (e objects) prepare(p *preparer) {
	p.load(e.manifest)
	for _, u := range e.manifest.objects {
		p.place(e.manifest, u)
	}
}

func (e objects) check(ctx context.Context, p *player) (all []Failure, err error) {
	there, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range e.manifest.objects {
		all = append(all, e.one(u, there)...)
	}
	return all, nil
}

// one checks one expected object. If several objects may match, the failure has
// the shortest diff.
func (e objects) one(want *unstructured.Unstructured, there []*unstructured.Unstructured) []Failure {
	nearest := ""
	var about *unstructured.Unstructured
	for _, u := range there {
		if !sameObject(want, u) {
			continue
		}
		diff := e.difference(want, u)
		if diff == "" {
			return nil
		}
		if nearest == "" || len(diff) < len(nearest) {
			nearest, about = diff, u
		}
	}
	switch {
	case about == nil && want.GetName() == "":
		return failureAt(e.manifest.Pos, "there is no %s in namespace %q", want.GetKind(), want.GetNamespace())
	case about == nil:
		return failureAt(e.manifest.Pos, "%s does not exist", title(want))
	case want.GetName() == "":
		return []Failure{{e.manifest.Pos, fmt.Sprintf("no %s matches, the most similar is %s", want.GetKind(), title(about)), nearest}}
	}
	return []Failure{{e.manifest.Pos, title(about) + " differs from what is expected", nearest}}
}

// sameObject reports whether an object may be the expected one. The version does
// not matter, because the cluster serves the object in all versions.
func sameObject(want, u *unstructured.Unstructured) bool {
	return want.GroupVersionKind().GroupKind() == u.GroupVersionKind().GroupKind() && want.GetNamespace() == u.GetNamespace() &&
		(want.GetName() == "" || want.GetName() == u.GetName())
}

func (e objects) difference(want, u *unstructured.Unstructured) string {
	same := u.DeepCopy()
	same.SetAPIVersion(want.GetAPIVersion())
	if e.how == subset {
		return difference(want.Object, same.Object)
	}
	if want.GetName() == "" {
		same.SetName("")
	}
	return differenceWhole(want.Object, same)
}

func (e absent) prepare(p *preparer) { p.reference(e.object) }

func (e absent) check(ctx context.Context, p *player) (all []Failure, err error) {
	there, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range there {
		if e.object.means(u) {
			all = append(all, failureAt(e.object.Pos, "%s exists%s", title(u), leaving(u))...)
		}
	}
	return all, nil
}

// leaving returns a note that an object is being deleted, with its finalizers, or
// "".
func leaving(u *unstructured.Unstructured) string {
	switch {
	case u.GetDeletionTimestamp() == nil:
		return ""
	case len(u.GetFinalizers()) == 0:
		return " (being deleted)"
	}
	return " (being deleted, with the finalizers " + strings.Join(u.GetFinalizers(), ", ") + ")"
}

func (e count) prepare(p *preparer) { p.reference(e.kind) }

func (e count) check(ctx context.Context, p *player) ([]Failure, error) {
	there, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, u := range there {
		if e.kind.means(u) && u.GetDeletionTimestamp() == nil {
			found = append(found, title(u))
		}
	}
	switch {
	case len(found) == e.n:
		return nil, nil
	case len(found) == 0:
		return failureAt(e.kind.Pos, "expected %d of %s, got none", e.n, e.kind), nil
	}
	return failureAt(e.kind.Pos, "expected %d of %s, got %d: %s", e.n, e.kind, len(found), strings.Join(found, ", ")), nil
}

func (e status) prepare(*preparer) {}

func (e status) check(ctx context.Context, p *player) ([]Failure, error) {
	primary, failures, err := p.primary(ctx, e.pos, "status")
	if primary == nil {
		return failures, err
	}
	got, _, _ := unstructured.NestedMap(primary.Object, "status")
	if diff := difference(e.want, got); diff != "" {
		return []Failure{{e.pos, "status of " + title(primary) + " differs from what is expected" + e.leftOut(got), diff}}, nil
	}
	return nil, nil
}

// leftOut returns a note about why fields may be missing, or "".
func (e status) leftOut(got map[string]any) string {
	for name, value := range e.want {
		if _, there := got[name]; !there && value != nil {
			return " (a field is omitted while its expression waits for something; -v lists expressions that never ran)"
		}
	}
	return ""
}

func (e condition) prepare(*preparer) {}

func (e condition) check(ctx context.Context, p *player) ([]Failure, error) {
	primary, failures, err := p.primary(ctx, e.pos, "conditions")
	if primary == nil {
		return failures, err
	}
	got := conditionOf(primary, e.kind)
	switch {
	case got == nil && e.want == nil:
		return nil, nil
	case got == nil:
		return failureAt(e.pos, "%s has no condition %s", title(primary), e.kind), nil
	case e.want == nil:
		return failureAt(e.pos, "%s has a condition %s: it is %v", title(primary), e.kind, got["status"]), nil
	}
	part, _ := e.want["message"].(string)
	if message, _ := got["message"].(string); part != "" && strings.Contains(message, part) {
		got["message"] = part
	}
	diff := difference(e.want, got)
	if diff == "" {
		return nil, nil
	}
	message := fmt.Sprintf("condition %s of %s differs from what is expected", e.kind, title(primary))
	return []Failure{{e.pos, message + ": " + saying(got), diff}}, nil
}

// saying returns a condition as in messages.
func saying(condition map[string]any) string {
	return strings.TrimSuffix(fmt.Sprintf("%v, %v: %v", condition["status"], condition["reason"], condition["message"]), ": ")
}

// conditionOf returns a copy of a condition, or nil.
func conditionOf(u *unstructured.Unstructured, kind string) map[string]any {
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return condition
		}
	}
	return nil
}

func (e snapshot) prepare(*preparer) {}

func (e snapshot) check(ctx context.Context, p *player) ([]Failure, error) {
	there, err := p.place.Objects(ctx)
	if err != nil {
		return nil, err
	}
	got, path := picture(there), p.suite.file.path(e.file)
	if p.options.Update {
		return nil, writeSnapshot(path, got)
	}
	want, err := readSnapshot(path)
	switch {
	case err != nil:
		return nil, err
	case want == "":
		return failureAt(e.pos, "there is no %s: write it with --update", path), nil
	case want == got:
		return nil, nil
	}
	return []Failure{{e.pos, "the cluster differs from " + path, diffTexts(want, got)}}, nil
}
