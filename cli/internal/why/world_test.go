package why

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
	"reconcel/rules/expr"
)

// An example is the rules of a folder, with their resources and the objects that exist.
type example struct {
	*testing.T
	loaded              *rules.Loaded
	kinds               offline.Kinds
	resources, observed []*files.Object
}

func load(t *testing.T, folder string) *example {
	e := &example{T: t}
	var err error
	if e.kinds, err = offline.ReadKinds(files.Reader{}, []string{"../../../crds"}); err != nil {
		t.Fatal(err)
	}
	sources, _, _ := files.Reader{}.Select([]string{filepath.Join(folder, "rules.yaml")})
	if e.loaded = rules.Compile(sources); e.loaded.Program == nil {
		t.Fatal(e.loaded.Errors)
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, path := range paths {
		switch filepath.Base(path) {
		case "rules.yaml", "tests.yaml", "expected.yaml", "snapshot.yaml", "none.yaml":
			continue
		}
		all, err := e.kinds.Resources(files.Reader{}, []string{path}, "default")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.GetUID() == "" {
				o.SetUID("0b0e2c1e-3c1d-4b7e-9a55-2f0c8d1e7a90") // A placeholder would depend on the name.
			}
			if filepath.Base(path) != "observed.yaml" && e.hasRules(o) {
				e.resources = append(e.resources, o)
			} else {
				e.observed = append(e.observed, o)
			}
		}
	}
	return e
}

func (e *example) hasRules(o *files.Object) bool {
	return slices.ContainsFunc(e.loaded.Program.Primaries(), func(p *rules.Primary) bool { return p.GVK == o.GroupVersionKind() })
}

// render renders all resources, after a change to one object.
func (e *example) render(changed *files.Object, change func(map[string]any)) map[string]*Subject {
	copies := func(all []*files.Object) (out []*files.Object) {
		for _, o := range all {
			c := *o
			c.Object = runtime.DeepCopyJSON(o.Object)
			if o == changed {
				change(c.Object)
			}
			out = append(out, &c)
		}
		return out
	}
	r, err := offline.New(offline.Options{Program: e.loaded.Program, Kinds: e.kinds, Observed: copies(e.observed), Say: func(string, ...any) {}})
	if err != nil {
		e.Fatal(err)
	}
	all := map[string]*Subject{}
	for _, in := range r.Subjects(copies(e.resources)) {
		if s := Render(e.loaded.File, in.Primary, in.Input); in.Failures == 0 || changed == nil {
			all[s.Self.String()] = s
		}
	}
	return all
}

// A field is a leaf of a rendered child, or of what a rule writes into its primary.
type field struct {
	path  []any
	value any
	of    string         // the primary
	rule  string         // of a field of the primary
	child string         // or of a child
	id    rules.Identity // of the object
	// from is what the explanation names for the value, and why for the existence. direct is
	// from without what decides whether the objects exist that it reads.
	from, direct, why named
	by                expression
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
			if len(origins) > 0 {
				one.by = expression{f.id, origins[0].Pos}
			}
			one.from.add(origins)
			one.direct.addWithout(origins, deciding)
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

// read returns the value of a field in another rendering. It is not known while the rule
// fails, or the object waits or fails: then the cluster keeps what it has.
func (f *field) read(all map[string]*Subject) (value any, known bool) {
	s := all[f.of]
	if s == nil {
		return nil, false // The API server would reject something.
	}
	for i := range s.Out.Rules {
		r := &s.Out.Rules[i]
		switch {
		case f.child == "" && r.Rule.Name == f.rule:
			decided := r.Err == nil && r.PatchErr == nil && len(r.PatchWaits) == 0 && r.StatusErr == nil && len(r.StatusWaits) == 0
			return valueAt(ownOf(r), f.path), decided
		case r.Err != nil && slices.ContainsFunc(r.Rule.Children, func(c *rules.Child) bool { return c.ID == f.child }):
			return nil, false
		}
		for j := range r.Children {
			if c := &r.Children[j]; c.Child.ID == f.child {
				return f.readChild(c)
			}
		}
	}
	return nil, true // The rule no longer selects the resource.
}

func (f *field) readChild(c *rules.ChildResult) (value any, known bool) {
	for k := range c.Objects {
		if d := &c.Objects[k]; d.Identity == f.id {
			object, _ := d.Whole()
			return valueAt(object, f.path), d.State != rules.Waiting && d.State != rules.Failed
		}
	}
	return nil, c.State != rules.Waiting && c.State != rules.Failed
}
