package ruletest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A Setting has the rules and kinds that the cases of a file need.
type Setting struct {
	Program *rules.Program
	Kinds   *sim.Kinds
	// Coverage records which expressions ran; nil records nothing. Files with the
	// same program may share one.
	Coverage *rules.Coverage
	// Load returns the rules in files and folders.
	Load func(paths []string) (*rules.Program, error)
	// Read returns the objects in a file.
	Read func(path string) ([]*unstructured.Unstructured, error)
}

// A Suite is a test file that is ready to run.
type Suite struct {
	file    *File
	setting Setting
}

// Prepare reads the objects of the cases and resolves the kinds of references. It
// must be called once. Its error is a source.Errors.
func (f *File) Prepare(setting Setting) (*Suite, error) {
	p := &preparer{setting: setting, file: f, kinds: newNames(setting)}
	for _, c := range f.Cases {
		p.entry, p.programs = fmt.Sprintf("case %q: ", c.Name), []*rules.Program{setting.Program}
		p.complete(c.Given)
		if c.Primary != nil {
			p.reference(c.Primary)
		}
		for i, step := range c.Steps {
			p.entry = fmt.Sprintf("case %q: step %d: ", c.Name, i+1)
			for _, a := range step.When {
				a.prepare(p)
			}
			for _, e := range step.Then {
				e.prepare(p)
			}
		}
		if c.Primary == nil {
			c.Primary = p.primary(c)
		}
		p.statuses(c)
	}
	if err := source.Collect([]source.File{f.source}, p.errs).Err(); err != nil {
		return nil, err
	}
	return &Suite{f, setting}, nil
}

// statuses complains about fields that the status of the primary does not have.
func (p *preparer) statuses(c *Case) {
	for i, step := range c.Steps {
		p.entry = fmt.Sprintf("case %q: step %d: ", c.Name, i+1)
		for _, e := range step.Then {
			if s, ok := e.(status); ok && c.Primary != nil && c.Primary.of != nil {
				p.fields(s.pos, c.Primary.Kind, c.Primary.of, map[string]any{"status": s.want})
			}
		}
	}
}

// A preparer prepares a file and collects its errors.
type preparer struct {
	setting  Setting
	file     *File
	kinds    *names
	entry    string
	errs     []*source.Error
	programs []*rules.Program // of the case
}

func (p *preparer) complain(pos source.Pos, hint, format string, args ...any) {
	p.errs = append(p.errs, source.NewError(pos, "", p.entry+fmt.Sprintf(format, args...), hint))
}

// complete prepares objects that the test creates.
func (p *preparer) complete(manifests []*Manifest) {
	for _, m := range manifests {
		p.load(m)
		for _, u := range m.objects {
			switch {
			case u.GetAPIVersion() == "":
				p.complain(m.Pos, "", "an object without apiVersion")
			case u.GetName() == "" && u.GetGenerateName() == "":
				p.complain(m.Pos, "", "%s without metadata.name", u.GetKind())
			default:
				p.place(m, u)
			}
		}
	}
}

// load reads the objects of a manifest.
func (p *preparer) load(m *Manifest) {
	if m.Object != nil {
		m.objects = []*unstructured.Unstructured{{Object: m.Object}}
	} else {
		var err error
		if m.objects, err = p.setting.Read(p.file.path(m.File)); err != nil {
			p.complain(m.Pos, "", "%v", err)
			return
		}
		if len(m.objects) == 0 {
			p.complain(m.Pos, "", "%s: no object there", m.File)
		}
	}
	m.objects = slices.DeleteFunc(m.objects, func(u *unstructured.Unstructured) bool { return !p.check(m.Pos, u) })
}

// check reports whether an object is well-formed, and complains if it is not.
func (p *preparer) check(pos source.Pos, u *unstructured.Unstructured) bool {
	before := len(p.errs)
	if u.GetKind() == "" {
		p.complain(pos, "", "an object without kind")
	}
	metadata, isMap := u.Object["metadata"].(map[string]any)
	if !isMap && u.Object["metadata"] != nil {
		p.complain(pos, "", "%s: metadata is not a map", u.GetKind())
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, isText := metadata[field].(string); !isText && metadata[field] != nil {
			p.complain(pos, "quote it", "%s: metadata.%s is %v, which is not text", u.GetKind(), field, metadata[field])
		}
	}
	return len(p.errs) == before
}

// place sets the kind and namespace of an object, and checks its fields.
func (p *preparer) place(m *Manifest, u *unstructured.Unstructured) {
	gvk := u.GroupVersionKind()
	kind := p.setting.Kinds.Kind(gvk)
	switch {
	case u.GetAPIVersion() == "":
		kind = p.kind(m.Pos, gvk.Kind)
	case kind == nil:
		p.complain(m.Pos, p.kinds.hint(gvk), "there is no kind %s in %s", gvk.Kind, u.GetAPIVersion())
	}
	if kind == nil {
		return
	}
	u.SetGroupVersionKind(kind.GVK)
	switch {
	case kind.Namespaced && u.GetNamespace() == "":
		u.SetNamespace("default")
	case !kind.Namespaced && u.GetNamespace() != "":
		p.complain(m.Pos, "remove metadata.namespace", "%s %s: the kind is cluster-scoped", kind.GVK.Kind, u.GetName())
	}
	subject := kind.GVK.Kind
	if m.File != "" {
		subject = m.File + ": " + title(u)
	}
	p.fields(m.Pos, subject, kind, u.Object)
}

// fields complains about fields that a kind does not have. An API server would drop
// them, and an expectation that such a field is absent would always pass.
func (p *preparer) fields(pos source.Pos, subject string, kind *schema.Kind, object map[string]any) {
	for _, f := range p.setting.Kinds.Unknown(kind, object) {
		hint := ""
		if near := source.Nearest(f.Name, f.Have); near != "" {
			hint = "did you mean '" + near + "'?"
		}
		p.complain(pos, hint, "%s has no field %s", subject, f.Path)
	}
}

// reference resolves the kind and the namespace of a reference.
func (p *preparer) reference(r *Reference) {
	if r.of = p.kind(r.Pos, r.Kind); r.of == nil {
		return
	}
	switch {
	case r.of.Namespaced && r.Namespace == "" && r.Name != "":
		r.Namespace = "default"
	case !r.of.Namespaced && r.Namespace != "":
		p.complain(r.Pos, "write "+r.Kind+"/"+r.Name, "%s: the kind is cluster-scoped", r.Kind)
	}
}

func (p *preparer) references(all []*Reference) {
	for _, r := range all {
		p.reference(r)
	}
}

// kind returns the kind with a name, or nil after a complaint.
func (p *preparer) kind(pos source.Pos, name string) *schema.Kind {
	found := p.kinds.find(name)
	switch {
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		var options []string
		for _, k := range found {
			options = append(options, qualified(k.GVK))
		}
		p.complain(pos, "write "+strings.Join(options, " or "), "there are %d kinds %s", len(found), name)
		return nil
	}
	kind, group, _ := strings.Cut(name, ".")
	p.complain(pos, p.kinds.hint(runtimeschema.GroupVersionKind{Group: group, Kind: kind}), "there is no kind %s", name)
	return nil
}

// primariesOf returns the primaries of several programs.
func primariesOf(programs []*rules.Program) (all []*rules.Primary) {
	for _, program := range programs {
		all = append(all, program.Primaries()...)
	}
	return all
}

// primary returns the first object of a case whose kind a rule matches, or nil.
func (p *preparer) primary(c *Case) *Reference {
	made := slices.Clone(c.Given)
	for _, step := range c.Steps {
		for _, a := range step.When {
			if a, ok := a.(apply); ok {
				made = append(made, a.manifests...)
			}
		}
	}
	for _, m := range made {
		for _, u := range m.objects {
			gk := u.GroupVersionKind().GroupKind()
			for _, primary := range primariesOf(p.programs) {
				if kind := p.setting.Kinds.Kind(primary.GVK); kind != nil && primary.GVK.GroupKind() == gk && u.GetName() != "" {
					return &Reference{Pos: m.Pos, Kind: gk.Kind, Namespace: u.GetNamespace(), Name: u.GetName(), of: kind}
				}
			}
		}
	}
	return nil
}
