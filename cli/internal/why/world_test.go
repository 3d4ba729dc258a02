package why

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
	"reconcel/rules/expr"
)

// An example is the rules of a folder, with resources and the objects that exist.
type example struct {
	*testing.T
	loaded              *rules.Loaded
	kinds               offline.Kinds
	resources, observed []*files.Object
}

// now is the time of all renderings: some hours after the times in examples.
var now = time.Date(2026, 1, 2, 6, 0, 0, 0, time.UTC)

// load loads the rules of a folder with objects of files.
func load(t *testing.T, folder string, paths []string) *example {
	e := &example{T: t}
	var err error
	if e.kinds, err = offline.ReadKinds(files.Reader{}, []string{"../../../crds"}); err != nil {
		t.Fatal(err)
	}
	sources, _, _ := files.Reader{}.Select([]string{filepath.Join(folder, "rules.yaml")})
	if e.loaded = rules.Compile(sources); e.loaded.Program == nil {
		t.Fatal(e.loaded.Errors)
	}
	for _, path := range paths {
		all, err := e.kinds.Resources(files.Reader{}, []string{path}, "default")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.Unstructured.GetUID() == "" {
				o.Unstructured.SetUID("0b0e2c1e-3c1d-4b7e-9a55-2f0c8d1e7a90") // A placeholder would depend on the name.
			}
			resource := filepath.Base(path) != "observed.yaml" && e.hasRules(o)
			if _, has := o.Unstructured.Object["status"]; resource && has {
				e.observed = append(e.observed, &files.Object{Unstructured: *o.Unstructured.DeepCopy(), File: path})
				delete(o.Unstructured.Object, "status")
			}
			if resource {
				e.resources = append(e.resources, o)
			} else {
				e.observed = append(e.observed, o)
			}
		}
	}
	return e
}

// statesOf returns the states of an example, each as the files that have its objects: those
// of its folder, and each file in testdata/states.
func statesOf(folder string) map[string][]string {
	states := map[string][]string{}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, path := range paths {
		switch filepath.Base(path) {
		case "rules.yaml", "tests.yaml", "expected.yaml", "snapshot.yaml", "none.yaml":
		default:
			states[""] = append(states[""], path)
		}
	}
	more, _ := filepath.Glob(filepath.Join("testdata/states", filepath.Base(folder), "*.yaml"))
	for _, path := range more {
		states[path] = []string{path}
	}
	return states
}

func (e *example) hasRules(o *files.Object) bool {
	return slices.ContainsFunc(e.loaded.Program.Primaries(), func(p *rules.Primary) bool { return p.GVK == o.Unstructured.GroupVersionKind() })
}

func (e *example) isObserved(id rules.Identity) bool {
	return slices.ContainsFunc(e.observed, func(o *files.Object) bool { return idOf(o) == id })
}

// An edit sets an input to a value.
type edit struct {
	input
	to any
}

// A world is what the rules render for all resources, by the resource.
type world struct {
	subjects map[string]*rendered.Rendering
	objects  map[*rules.Desired]map[string]any
	own      map[*rules.RuleResult]map[string]any
}

// subjects returns what the rules read, after changes.
func (e *example) subjects(changes ...edit) []offline.Subject {
	copies := func(all []*files.Object) (out []*files.Object) {
		for _, o := range all {
			c := *o
			c.Unstructured.Object = runtime.DeepCopyJSON(o.Unstructured.Object)
			for _, change := range changes {
				if change.of == idOf(o) {
					change.set(c.Unstructured.Object, change.to)
				}
			}
			out = append(out, &c)
		}
		return out
	}
	r, err := offline.New(offline.Options{Program: e.loaded.Program, Kinds: e.kinds, Observed: copies(e.observed), Time: now, Say: func(string, ...any) {}})
	if err != nil {
		e.Fatal(err)
	}
	resources := copies(e.resources)
	for _, o := range resources {
		if e.isObserved(idOf(o)) {
			delete(o.Unstructured.Object, "status") // That of the observed object counts.
		}
	}
	return r.Subjects(resources)
}

// render renders all resources after changes.
func (e *example) render(changes ...edit) *world {
	w := &world{subjects: map[string]*rendered.Rendering{}, objects: map[*rules.Desired]map[string]any{}, own: map[*rules.RuleResult]map[string]any{}}
	for _, in := range e.subjects(changes...) {
		if in.Failures == 0 { // Otherwise the API server would reject something.
			w.subjects[selfOf(in)] = rendered.Render(in.Primary, in.Input)
		}
	}
	return w
}

func selfOf(in offline.Subject) string {
	u := unstructured.Unstructured{Object: in.Input.Self}
	return rules.Identity{GVK: in.Primary.GVK, Namespace: u.GetNamespace(), Name: u.GetName()}.String()
}

func idOf(o *files.Object) rules.Identity {
	return rules.Identity{GVK: o.Unstructured.GroupVersionKind(), Namespace: o.Unstructured.GetNamespace(), Name: o.Unstructured.GetName()}
}

// A field is a leaf of a rendered child, or of what a rule writes into its primary.
type field struct {
	path  []any
	value any
	of    string         // the primary
	rule  string         // of a field of the primary
	child string         // or of a child
	id    rules.Identity // of the object
	// from is what the explanation names for the value, and why for the existence.
	from, why named
}

func (f *field) String() string { return f.id.String() + expr.Path("", f.path) }

// leaves visits the scalars of an object, and its empty maps and lists.
func leaves(value any, path []any, visit func(path []any, value any)) {
	size := 0
	switch v := value.(type) {
	case map[string]any:
		size = len(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			leaves(v[key], append(slices.Clip(path), key), visit)
		}
	case []any:
		size = len(v)
		for i := range v {
			leaves(v[i], append(slices.Clip(path), i), visit)
		}
	}
	if size == 0 {
		visit(path, value)
	}
}

// fields returns all fields that the rules write for a primary, explained.
func (e *example) fields(s *Subject) (all []*field) {
	add := func(f field, object map[string]any, value func(path []any) []rules.Origin, existence []rules.Origin) {
		leaves(object, nil, func(path []any, v any) {
			one := f
			one.path, one.value = path, v
			origins := value(path)
			if origins == nil {
				e.Errorf("%s is not explained", &one)
			}
			one.from.add(origins)
			one.why.add(existence)
			all = append(all, &one)
		})
	}
	for i := range s.Out.Rules {
		r := &s.Out.Rules[i]
		for j := range r.Children {
			c := &r.Children[j]
			for k := range c.Objects {
				d := &c.Objects[k]
				if object, err := d.Whole(); err == nil {
					add(field{of: s.Self.String(), child: c.Child.ID, id: d.Identity}, object,
						func(path []any) []rules.Origin { return s.Explain.Field(d, path) }, s.Explain.Existence(d))
				}
			}
		}
		if object := ownOf(r); len(object) > 0 {
			add(field{of: s.Self.String(), rule: r.Rule.Name, id: s.Self}, object,
				func(path []any) []rules.Origin { return s.Explain.Own(r.Rule, path) }, s.Explain.Selection(r.Rule))
		}
	}
	return all
}

// read returns what another rendering has at a path of the object. It is not known while
// the rule fails, or the object waits or fails: then the cluster keeps what it has.
func (f *field) read(w *world, path []any) (value any, known bool) {
	out := w.subjects[f.of]
	if out == nil {
		return nil, false
	}
	for i := range out.Rules {
		r := &out.Rules[i]
		switch {
		case f.child == "" && r.Rule.Name == f.rule:
			if w.own[r] == nil {
				w.own[r] = ownOf(r)
			}
			decided := r.Err == nil && r.PatchErr == nil && len(r.PatchWaits) == 0 && r.StatusErr == nil && len(r.StatusWaits) == 0
			return valueAt(w.own[r], path), decided
		case r.Err != nil && slices.ContainsFunc(r.Rule.Children, func(c *rules.Child) bool { return c.ID == f.child }):
			return nil, false
		}
		for j := range r.Children {
			if c := &r.Children[j]; c.Child.ID == f.child {
				return f.readChild(w, c, path)
			}
		}
	}
	return nil, true // The rule no longer selects the resource.
}

func (f *field) readChild(w *world, c *rules.ChildResult, path []any) (value any, known bool) {
	for k := range c.Objects {
		if d := &c.Objects[k]; d.Identity == f.id {
			if w.objects[d] == nil {
				w.objects[d], _ = d.Whole()
			}
			return valueAt(w.objects[d], path), d.State != rules.Waiting && d.State != rules.Failed
		}
	}
	return nil, c.State != rules.Waiting && c.State != rules.Failed
}
