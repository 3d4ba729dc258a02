package ruletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/internal/disk"
	"reconcel/rules/source"
)

// An expectation is a check at the end of a step.
type expectation interface {
	// check returns the differences from what is expected.
	check(p *player) []Failure
}

// expectations reads an entry of `then`.
func (r *reader) expectations(f *source.Field) (all []expectation) {
	n := f.Value
	switch f.Key.Value {
	case "objects":
		for _, m := range r.expectedObjects(n) {
			all = append(all, objects{m, subset})
		}
	case "exactly":
		for _, m := range r.expectedObjects(n) {
			all = append(all, objects{m, whole})
		}
	case "absent":
		for _, ref := range r.references(n) {
			all = append(all, absent{ref})
		}
	case "count":
		for _, entry := range n.Fields {
			all = append(all, count{r.allOfKind(entry.Key), int(entry.Value.Value.(int64))})
		}
	case "status":
		all = append(all, status{f.Key.Pos, n.Plain().(map[string]any)})
	case "conditions":
		for i := range n.Fields {
			all = append(all, r.condition(&n.Fields[i]))
		}
	case "events":
		e := events{pos: f.Key.Pos}
		for _, item := range itemsIn(n) {
			e.want = append(e.want, r.event(item))
		}
		all = append(all, e)
	case "writes":
		all = append(all, writes{f.Key.Pos, int(n.Value.(int64))})
	case "snapshot":
		all = append(all, snapshot{n.Pos, besideFile(r.file, n.Literal().Value)})
	}
	return all
}

// A comparison says which fields of an object are compared.
type comparison int

const (
	subset comparison = iota // the fields in the test file
	whole                    // all fields that the rules have set, and no others
)

// An objects expects objects to exist.
type objects struct {
	*manifest
	how comparison
}

func (e objects) check(p *player) (all []Failure) {
	for _, u := range e.objects {
		all = append(all, e.checkOne(u, p)...)
	}
	return all
}

// checkOne checks one expected object. If several objects may match, the failure has
// the shortest diff.
func (e objects) checkOne(want *unstructured.Unstructured, p *player) []Failure {
	nearest := ""
	var about *unstructured.Unstructured
	for _, u := range p.objects {
		if !mayBe(want, u) {
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
		return failureAt(e.pos, "there is no %s in namespace %q%s", want.GetKind(), want.GetNamespace(), p.trouble())
	case about == nil:
		return failureAt(e.pos, "%s does not exist%s", titleOf(want), p.trouble())
	case want.GetName() == "":
		return diffAt(e.pos, nearest, "no %s matches, the most similar is %s", want.GetKind(), titleOf(about))
	}
	return diffAt(e.pos, nearest, "%s differs from what is expected", titleOf(about))
}

// mayBe reports whether an object may be the expected one. The version does not
// matter, because the cluster serves the object in all versions.
func mayBe(want, u *unstructured.Unstructured) bool {
	return want.GroupVersionKind().GroupKind() == u.GroupVersionKind().GroupKind() &&
		want.GetNamespace() == u.GetNamespace() &&
		(want.GetName() == "" || want.GetName() == u.GetName())
}

func (e objects) difference(want, u *unstructured.Unstructured) string {
	same := u.DeepCopy()
	same.SetAPIVersion(want.GetAPIVersion())
	if e.how == subset {
		return diffFields(want.Object, same.Object)
	}
	if want.GetName() == "" {
		same.SetName("")
	}
	return diffRuled(want.Object, same)
}

// An absent expects objects not to exist.
type absent struct{ objects *reference }

func (e absent) check(p *player) (all []Failure) {
	for _, u := range p.objects {
		if e.objects.matches(u) {
			all = append(all, failureAt(e.objects.pos, "%s exists%s", titleOf(u), beingDeleted(u))...)
		}
	}
	return all
}

// beingDeleted returns a note that an object is being deleted, with its finalizers, or
// "".
func beingDeleted(u *unstructured.Unstructured) string {
	switch {
	case u.GetDeletionTimestamp() == nil:
		return ""
	case len(u.GetFinalizers()) == 0:
		return " (being deleted)"
	}
	return " (being deleted, with the finalizers " + strings.Join(u.GetFinalizers(), ", ") + ")"
}

// A count expects a number of objects of a kind.
type count struct {
	kind *reference
	n    int
}

func (e count) check(p *player) []Failure {
	var found []string
	for _, u := range p.objects {
		if e.kind.matches(u) && u.GetDeletionTimestamp() == nil {
			found = append(found, titleOf(u))
		}
	}
	switch {
	case len(found) == e.n:
		return nil
	case len(found) == 0:
		return failureAt(e.kind.pos, "expected %d of %s, got none", e.n, e.kind)
	}
	return failureAt(e.kind.pos, "expected %d of %s, got %d: %s", e.n, e.kind, len(found), strings.Join(found, ", "))
}

// A snapshot expects the whole cluster to be as in a file.
type snapshot struct {
	pos  source.Pos
	path string
}

func (e snapshot) check(p *player) []Failure {
	got := snapshotOf(p.objects)
	if p.options.Update {
		return asFailure(e.pos, writeSnapshot(e.path, got))
	}
	want, err := readSnapshot(e.path)
	switch {
	case err != nil:
		return asFailure(e.pos, err)
	case want == "":
		return failureAt(e.pos, "there is no %s: write it with --update", e.path)
	case want == got:
		return nil
	}
	return diffAt(e.pos, diffTexts(want, got), "the cluster differs from %s", e.path)
}

// trouble says why a primary is stalled, or returns "" unless there is exactly one.
func (p *player) trouble() (why string) {
	kinds := p.primaries()
	for _, u := range p.objects {
		if stalled := conditionOf(u, "Stalled"); kinds[u.GroupVersionKind().GroupKind()] && stalled["status"] == "True" {
			if why != "" {
				return ""
			}
			why = fmt.Sprintf("; %s is stalled, %v: %v", titleOf(u), stalled["reason"], stalled["message"])
		}
	}
	return why
}

// primary returns the primary of the case, or a failure if the case has no primary.
func (p *player) primary(pos source.Pos, what string) (*unstructured.Unstructured, []Failure) {
	if p.c.primary == nil {
		return nil, failureAt(pos, "%s: no rule is for an object of the case: set primary", what)
	}
	i := slices.IndexFunc(p.objects, p.c.primary.matches)
	if i < 0 {
		return nil, failureAt(pos, "%s: %s is not there", what, p.c.primary)
	}
	return p.objects[i], nil
}

// A Failure is one difference from what is expected.
type Failure struct {
	Pos     source.Pos `json:"position"`       // of the expectation
	Step    int        `json:"step,omitempty"` // 0: the given objects or the built-in checks
	Message string     `json:"message"`        // begins with its subject
	Diff    string     `json:"diff,omitempty"` // of the expected and the actual value
}

// String returns the message, with the step if there is one.
func (f Failure) String() string {
	if f.Step == 0 {
		return f.Message
	}
	return fmt.Sprintf("step %d: %s", f.Step, f.Message)
}

func failureAt(pos source.Pos, format string, args ...any) []Failure {
	return diffAt(pos, "", format, args...)
}

func diffAt(pos source.Pos, diff, format string, args ...any) []Failure {
	return []Failure{{Pos: pos, Message: fmt.Sprintf(format, args...), Diff: diff}}
}

// snapshotHead is the first line of a snapshot.
const snapshotHead = "# Everything in the cluster. Written by: reconcel test --update\n"

// snapshotOf returns all objects in the form of a snapshot. It omits uids, times and
// other metadata of the API server, because they differ in each run.
func snapshotOf(all []*unstructured.Unstructured) string {
	var b strings.Builder
	b.WriteString(snapshotHead)
	for _, u := range all {
		out := runtime.DeepCopyJSON(u.Object)
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
			unstructured.RemoveNestedField(out, "metadata", field)
		}
		dropFromItems(out, "uid", "metadata", "ownerReferences")
		dropFromItems(out, "lastTransitionTime", "status", "conditions")
		dropMarks(out, nil)
		b.WriteString("---\n" + asYAML(out))
	}
	return b.String()
}

// dropFromItems removes a key from each item of a list.
func dropFromItems(object map[string]any, key string, path ...string) {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	items, _ := value.([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			delete(fields, key)
		}
	}
}

// readSnapshot returns a snapshot, or "" if the file does not exist.
func readSnapshot(path string) (string, error) {
	data, err := disk.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.ReplaceAll(string(data), "\r\n", "\n"), err
}

func writeSnapshot(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// A status expects fields of the primary's status.
type status struct {
	pos  source.Pos
	want map[string]any
}

func (e status) check(p *player) []Failure {
	primary, failures := p.primary(e.pos, "status")
	if primary == nil {
		return failures
	}
	got, _, _ := unstructured.NestedMap(primary.Object, "status")
	diff := diffFields(e.want, got)
	if diff == "" {
		return nil
	}
	why := ""
	for name, value := range e.want {
		if _, there := got[name]; !there && value != nil {
			why = " (a field is omitted while its expression waits for something; -v lists expressions that never ran)"
		}
	}
	return diffAt(e.pos, diff, "status of %s differs from what is expected%s", titleOf(primary), why)
}

// A condition expects a condition of the primary.
type condition struct {
	pos  source.Pos
	kind string
	want map[string]any // nil: the condition does not exist
}

func (r *reader) condition(f *source.Field) condition {
	c := condition{pos: f.Key.Pos, kind: f.Key.Value}
	switch f.Value.Kind {
	case source.Null:
		return c
	case source.Map:
		c.want = f.Value.Plain().(map[string]any)
	default:
		c.want = map[string]any{"status": f.Value.Plain()}
	}
	switch s := c.want["status"].(type) {
	case bool: // An unquoted True is a boolean in YAML.
		c.want["status"] = map[bool]string{true: "True", false: "False"}[s]
	case string:
		if s != "True" && s != "False" && s != "Unknown" {
			r.complain(f.Value.Pos, "", "conditions.%s: expected True, False or Unknown, got %q", c.kind, s)
		}
	}
	return c
}

func (e condition) check(p *player) []Failure {
	primary, failures := p.primary(e.pos, "conditions")
	if primary == nil {
		return failures
	}
	got := conditionOf(primary, e.kind)
	switch {
	case got == nil && e.want == nil:
		return nil
	case got == nil:
		return failureAt(e.pos, "%s has no condition %s", titleOf(primary), e.kind)
	case e.want == nil:
		return failureAt(e.pos, "%s has a condition %s: it is %v", titleOf(primary), e.kind, got["status"])
	}
	part, _ := e.want["message"].(string)
	if message, _ := got["message"].(string); part != "" && strings.Contains(message, part) {
		got["message"] = part
	}
	diff := diffFields(e.want, got)
	if diff == "" {
		return nil
	}
	actual := strings.TrimSuffix(fmt.Sprintf("%v, %v: %v", got["status"], got["reason"], got["message"]), ": ")
	return diffAt(e.pos, diff, "condition %s of %s differs from what is expected: %s", e.kind, titleOf(primary), actual)
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
