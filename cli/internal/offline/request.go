package offline

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A Request names the files whose resources are rendered.
type Request struct {
	Resources []string
	Observed  []string // objects of the cluster
	Namespace string   // of objects without one
	Exists    Existence
	Time      time.Time                        // zero: see TimeOf
	Say       func(format string, args ...any) // prints a line for people
}

// Prepare reads the files of a request, and returns a renderer and the resources for it.
func (j Judged) Prepare(from files.Reader, q Request) (*Renderer, []*files.Object, error) {
	live, err := j.Kinds.Resources(from, q.Observed, q.Namespace)
	if err != nil {
		return nil, nil, err
	}
	resources, err := j.Kinds.Resources(from, q.Resources, q.Namespace)
	if err != nil {
		return nil, nil, err
	}
	at := q.Time
	if at.IsZero() {
		at = TimeOf(resources)
	}
	r, err := New(Options{Program: j.Program, Kinds: j.Kinds, Observed: live, Exists: q.Exists, Time: at, Say: q.Say})
	if err != nil {
		return nil, nil, exit.Wrong(err)
	}
	return r, resources, nil
}

// TimeOf returns when resources are rendered unless a time is given: now if one of them
// was created in the past, or else the zero time, which is that of their creation.
func TimeOf(resources []*files.Object) time.Time {
	created := func(o *files.Object) bool { at := o.Unstructured.GetCreationTimestamp(); return !at.IsZero() }
	if slices.ContainsFunc(resources, created) {
		return time.Now()
	}
	return time.Time{}
}

// A Judged is a set of rules with its result and the kinds behind it.
type Judged struct {
	*rules.Loaded
	Kinds  Kinds
	Result judge.Result
	Passed source.Errors // notes about files and documents without rules
}

// Judge loads and judges rules with their CRDs, or else those in the folders of the rules.
// Rejected rules are not an error: see the result. After errors in CRDs, the result goes by
// the others.
func Judge(from files.Reader, paths, crds []string, policy judge.Policy) (j Judged, err error) {
	j.Loaded, j.Passed = Load(from, paths)
	if len(crds) == 0 {
		crds = from.Definitions(paths)
	}
	j.Kinds, err = ReadKinds(from, crds)
	j.Result = judge.Of(j.Loaded, j.Kinds.Set, policy)
	return j, err
}

// Load loads rules, and returns notes about what it passed over.
func Load(from files.Reader, paths []string) (loaded *rules.Loaded, notes source.Errors) {
	sources, passed, unread := from.Select(paths)
	for _, name := range passed {
		notes = append(notes, source.NewError(source.Pos{File: name}, "", "has no rules, passed over", ""))
	}
	loaded = rules.Compile(sources, unread...)
	return loaded, append(notes, loaded.File.PassedOver...).WithSeverity(source.SeverityNote)
}

// Simulated returns the kinds of a cluster in memory for rules. A custom kind without a CRD
// keeps all fields.
func (k Kinds) Simulated(program *rules.Program) (*sim.Kinds, error) {
	var more []*schema.Kind
	for _, gvk := range k.Undescribed(program) {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		more = append(more, &schema.Kind{GVK: gvk, Resource: resource.Resource, Namespaced: true, Status: true})
	}
	return sim.NewKinds(k.Set, more...)
}

// Undescribed returns the custom kinds of rules that no CRD defines.
func (k Kinds) Undescribed(program *rules.Program) (gvks []runtimeschema.GroupVersionKind) {
	for gvk := range program.UsedKinds() {
		if k.Kind(gvk) == nil && !schema.BuiltInGroup(gvk.Group) && k.from[gvk.GroupKind()] == nil {
			gvks = append(gvks, gvk)
		}
	}
	slices.SortFunc(gvks, func(a, b runtimeschema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	return gvks
}
