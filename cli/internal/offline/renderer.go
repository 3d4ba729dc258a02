package offline

import (
	"fmt"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A Renderer renders resources one after another, and collects the result.
type Renderer struct {
	Failures int // resources and children that could not be rendered

	program  *rules.Program
	kinds    Kinds
	say      func(format string, args ...any) // prints a line for people
	observed *observed

	resources map[rules.Identity]*files.Object // rendered so far
	children  map[rules.Identity]*files.Object // rendered so far, with their resource
	items     []item
}

// An item is an object of the result.
type item struct {
	comment string
	object  map[string]any
}

// New returns a renderer with observed objects.
func New(program *rules.Program, kinds Kinds, live []*files.Object, say func(format string, args ...any)) (*Renderer, error) {
	all, err := newObserved(live)
	return &Renderer{
		program: program, kinds: kinds, say: say, observed: all,
		resources: map[rules.Identity]*files.Object{}, children: map[rules.Identity]*files.Object{},
	}, err
}

// Render renders a resource with all rules for its kind.
func (r *Renderer) Render(self *files.Object) {
	one := &rendering{Renderer: r, self: self, foreign: map[rules.Identity]string{}}
	if other := r.resources[identity(self)]; other != nil {
		one.fail("is given twice, in %s and %s", other.File, self.File)
		return
	}
	r.resources[identity(self)] = self
	primary, why := r.primary(self)
	if primary == nil {
		one.tell("%s", why)
		return
	}
	pruned, err := r.kinds.complete(self)
	if err != nil {
		one.fail("%s: %v", self.File, err)
		return
	}
	for _, field := range pruned {
		one.tell("%s%s: dropped, as the API server would: the CRD has no such field", field.Path, source.DidYouMean(field.Name, field.Have))
	}
	one.observeSelf()
	one.render(primary)
}

// primary returns the rules for a resource. If it has none, it returns the reason.
func (r *Renderer) primary(o *files.Object) (*rules.Primary, string) {
	gvk := o.GroupVersionKind()
	for _, p := range r.program.Primaries() {
		if p.GVK == gvk {
			return p, ""
		}
		if p.GVK.GroupKind() == gvk.GroupKind() {
			return nil, fmt.Sprintf("no rule is for version %s of its kind: rule %q is for %s", gvk.Version, p.Rules[0].Name, p.GVK.Version)
		}
	}
	var known []runtimeschema.GroupKind
	for _, p := range r.program.Primaries() {
		known = append(known, p.GVK.GroupKind())
	}
	return nil, fmt.Sprintf("no rule is for %s%s", gvk.GroupKind(), meantKind(gvk.GroupKind(), known))
}
