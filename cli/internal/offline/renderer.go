package offline

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/output"
	"reconcel/internal/yamltext"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
)

// Options say what a Renderer renders. Program, Kinds and Say are required.
type Options struct {
	Program  *rules.Program
	Kinds    Kinds
	Observed []*files.Object // objects of the cluster
	Exists   Existence
	// Time is when the resources are rendered. Objects without a creationTimestamp are
	// created then. The zero time stands for 1970-01-01T00:00:00Z.
	Time time.Time
	Say  func(format string, args ...any) // prints a line for people
}

// Existence decides which objects expressions can read.
type Existence int

// The values of Existence.
const (
	// AsRendered: what the rules render exists, besides the observed objects.
	AsRendered Existence = iota
	// ObservedOnly: only the observed objects exist.
	ObservedOnly
)

// A Renderer renders resources, and collects the result.
type Renderer struct {
	Failures []string // the notes on resources and children that could not be rendered

	program  *rules.Program
	kinds    Kinds
	server   *sim.Kinds // how an API server stores objects
	exists   Existence
	time     time.Time
	say      func(format string, args ...any)
	observed *cluster
	numbers  schema.NumberFields
	items    []item
}

// An item is an object of the result.
type item struct {
	comment string
	object  map[string]any
}

// New returns a renderer.
func New(o Options) (*Renderer, error) {
	server, err := sim.NewKinds(o.Kinds.Set)
	if err != nil {
		return nil, err
	}
	at := time.Unix(0, 0)
	if !o.Time.IsZero() {
		at = o.Time.Truncate(time.Second)
	}
	r := &Renderer{program: o.Program, kinds: o.Kinds, server: server, exists: o.Exists, time: at.UTC(), say: o.Say,
		numbers: o.Kinds.Set.NumberFields(o.Program.UsedKinds())}
	r.observed, err = newCluster(o.Observed)
	for _, object := range o.Observed {
		r.fillIdentity(object)
		r.program.HideGenerated(object.Unstructured.Object)
	}
	return r, err
}

// Render renders the rules for the cluster, and resources with all rules for their kinds.
func (r *Renderer) Render(given []*files.Object) {
	resources := r.bundles()
	fileOf := map[rules.Identity]string{}
	for _, self := range given {
		one := &resource{report: report{about: self.String()}, self: self}
		resources = append(resources, one)
		if other := fileOf[identity(self)]; other != "" {
			one.fail("is given twice, in %s and %s", other, self.File)
			continue
		}
		fileOf[identity(self)] = self.File
		r.prepare(one)
	}
	results := r.settle(resources)
	for i, one := range resources {
		r.tell(one.report)
		r.tell(results[i].report)
		r.items = append(r.items, results[i].items...)
	}
}

// tell prints notes, and collects failures.
func (r *Renderer) tell(about report) {
	for _, note := range about.notes {
		r.say("%s", note)
	}
	r.Failures = append(r.Failures, about.failures...)
}

// rulesFor returns the rules for a resource. If it has none, it returns the reason.
func (r *Renderer) rulesFor(o *files.Object) (*rules.Primary, string) {
	gvk := o.Unstructured.GroupVersionKind()
	for _, p := range r.program.Primaries() {
		if p.GVK == gvk {
			return p, ""
		}
		if p.GVK.GroupKind() == gvk.GroupKind() {
			return nil, fmt.Sprintf("no rule is for version %s of its kind: rule %q is for %s", gvk.Version, p.Rules[0].Name,
				p.GVK.Version)
		}
	}
	var known []runtimeschema.GroupKind
	for _, p := range r.program.Primaries() {
		known = append(known, p.GVK.GroupKind())
	}
	return nil, fmt.Sprintf("no rule is for %s%s", gvk.GroupKind(), meantKind(gvk.GroupKind(), known))
}

// bundles returns the rules for the cluster as resources without objects.
func (r *Renderer) bundles() (all []*resource) {
	for _, p := range r.program.Primaries() {
		if !p.ForCluster() {
			continue
		}
		for _, rule := range p.Rules {
			u := rules.NewBundle(rules.BundleOwner("", "", rule.Name), rule.Name)
			self := &files.Object{Unstructured: *u, File: rule.Pos.File}
			all = append(all, &resource{report: report{about: "cluster"}, self: self, primary: p})
		}
	}
	return all
}

// ErrNotPrepared says that a resource cannot be rendered. The reason is printed.
var ErrNotPrepared = errors.New("the resource cannot be rendered")

// A Subject is a resource with its rules, and what their expressions read.
type Subject struct {
	Primary  *rules.Primary
	Input    rules.Input
	Failures int // objects that cannot be rendered, or that the API server would reject
}

// Input renders a resource until nothing changes, and returns what its expressions read
// then.
func (r *Renderer) Input(self *files.Object) (rules.Input, error) {
	all := r.subjects(r.prepared([]*files.Object{self}))
	if len(all) == 0 {
		return rules.Input{}, ErrNotPrepared
	}
	return all[0].Input, nil
}

// Subjects renders the rules for the cluster and resources until nothing changes. Resources
// that cannot be rendered are left out: the reason is printed.
func (r *Renderer) Subjects(given []*files.Object) []Subject {
	return r.subjects(append(r.bundles(), r.prepared(given)...))
}

func (r *Renderer) prepared(given []*files.Object) (all []*resource) {
	for _, self := range given {
		one := &resource{report: report{about: self.String()}, self: self}
		r.prepare(one)
		r.tell(one.report)
		all = append(all, one)
	}
	return all
}

func (r *Renderer) subjects(resources []*resource) (all []Subject) {
	for i, last := range r.settle(resources) {
		if primary := resources[i].primary; primary != nil {
			in := rules.Input{Self: last.self.Unstructured.Object, Now: r.time, Observed: last.live, Owned: last.owned,
				Lookup: last.lookup, Numbers: r.numbers}
			if r.exists == AsRendered {
				in.Exists = r.observed.content
			}
			all = append(all, Subject{primary, in, len(last.failures)})
		}
	}
	return all
}

// A report collects notes and errors about a resource.
type report struct {
	about    string // the resource
	notes    []string
	failures []string // among the notes
}

// note adds a line. A message of the rules may quote the resource.
func (r *report) note(format string, args ...any) {
	r.notes = append(r.notes, output.Printable(r.about+": "+fmt.Sprintf(format, args...)))
}

// fail adds an error.
func (r *report) fail(format string, args ...any) {
	r.note(format, args...)
	r.failures = append(r.failures, r.notes[len(r.notes)-1])
}

// Format returns the result for stdout: YAML with comments for people, or a JSON
// List for programs.
func (r *Renderer) Format(format string) ([]byte, error) {
	if format == "json" {
		return r.json()
	}
	var b bytes.Buffer
	for i, item := range r.items {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(item.comment)
		b.WriteByte('\n')
		text, err := yamltext.Marshal(item.object)
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	return b.Bytes(), nil
}

func (r *Renderer) json() ([]byte, error) {
	list := struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}{"v1", "List", r.Objects()}
	return output.JSON(list)
}

// Objects returns the objects of the result.
func (r *Renderer) Objects() []map[string]any {
	all := []map[string]any{}
	for _, item := range r.items {
		all = append(all, item.object)
	}
	return all
}
