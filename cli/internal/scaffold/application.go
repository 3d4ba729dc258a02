package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
	"reconcel/sim"
)

// Options say what is made of manifests. Kind and Source are required.
type Options struct {
	Kind      runtimeschema.GroupVersionKind // of the resources
	Name      string                         // of the example; "" chooses one
	Namespace string                         // of the example; "" chooses one
	Source    string                         // where the manifests come from, for a comment

	// Ask, if not nil, returns another name for a field, - to keep the value in the rules, or
	// "". problem says what is wrong with the answer before.
	Ask func(f *Field, problem string) (answer string, err error)
}

// A Project is what is made of manifests.
type Project struct {
	Files []source.File
	Notes []string // what the reader has to know
}

// An application is what the manifests are together.
type application struct {
	Options
	kinds           *schema.Set // of Kubernetes and the CRDs of the manifests
	name, namespace string
	objects         []*object
	first           []*unstructured.Unstructured
	notes           []string
}

// New makes rules, a CRD, an example and tests of manifests.
func New(manifests []*unstructured.Unstructured, o Options) (*Project, error) {
	a := &application{Options: o}
	if err := a.sort(manifests); err != nil {
		return nil, err
	}
	a.identify()
	templates := &templater{app: a}
	templates.rename()
	templates.refer()
	templates.connect()
	templates.label()
	fields := &fieldSet{app: a}
	fields.collect(fields.discover())
	if err := fields.ask(); err != nil {
		return nil, err
	}
	fields.apply()
	templates.share()
	a.describe()
	w := &writer{app: a, fields: fields, lets: templates.lets}
	files, err := w.files()
	if err != nil {
		return nil, err
	}
	p := &Project{Files: files, Notes: a.notes}
	return p, a.verify(p, w.loaded)
}

// sort decides what becomes a child, and what has to be there before.
func (a *application) sort(manifests []*unstructured.Unstructured) error {
	var hooks []string
	var definitions []map[string]any
	var children []*unstructured.Unstructured
	for _, u := range manifests {
		switch {
		case u.GroupVersionKind().GroupKind() == a.Kind.GroupKind():
			return fmt.Errorf("%s %s is of the kind that init defines: choose another --kind or --api-version", u.GetKind(),
				u.GetName())
		case u.GetName() == "":
			return fmt.Errorf("%s with generateName %q: a child needs a metadata.name", u.GetKind(), u.GetGenerateName())
		case strings.TrimSpace(u.GetAnnotations()["helm.sh/hook"]) != "":
			hooks = append(hooks, u.GetKind()+"/"+u.GetName())
		case u.GroupVersionKind().GroupKind() == crdKind:
			a.first = append(a.first, u)
			definitions = append(definitions, u.Object)
		default:
			children = append(children, u)
		}
	}
	var err error
	if a.kinds, err = schema.New(schema.Sources{CRDs: definitions}); err != nil {
		return err
	}
	memory, err := sim.NewKinds(a.kinds)
	if err != nil {
		return err
	}
	for _, u := range children {
		a.objects = append(a.objects, newObject(u, memory))
	}
	a.namespace = a.Namespace
	if a.namespace == "" {
		a.namespace = chooseNamespace(a.objects)
	}
	a.objects = slices.DeleteFunc(a.objects, func(o *object) bool {
		own := o.gvk.GroupKind() == namespaceKind && o.name == a.namespace
		if own {
			a.first = append([]*unstructured.Unstructured{{Object: o.given}}, a.first...)
		}
		return own
	})
	if len(a.objects) == 0 {
		return fmt.Errorf("%s: no object there that can be a child", a.Source)
	}
	a.name = a.Name
	if a.name == "" {
		a.name = chooseName(a.objects, a.Kind.Kind)
	}
	if len(hooks) > 0 {
		a.note("left out, because only Helm runs hooks: %s", strings.Join(hooks, ", "))
	}
	return a.distinct()
}

var (
	crdKind       = runtimeschema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	namespaceKind = runtimeschema.GroupKind{Kind: "Namespace"}
)

// distinct returns an error if an object is there twice.
func (a *application) distinct() error {
	seen := map[string]bool{}
	for _, o := range a.objects {
		id := fmt.Sprint(o.gvk.GroupKind(), "/", a.namespaceOf(o), "/", o.name)
		if seen[id] {
			return fmt.Errorf("%s is there twice: leave one of them out", o)
		}
		seen[id] = true
	}
	return nil
}

func (a *application) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

func (a *application) isClusterScoped(o *object) bool {
	return a.kinds.Scope(o.gvk.GroupKind()) == schema.ClusterScoped
}

// privileged returns the kinds that --allow-kind has to name.
func (a *application) privileged() (kinds []string) {
	for _, o := range a.objects {
		if gk := o.gvk.GroupKind(); rules.Privileged(gk) && !slices.Contains(kinds, gk.String()) {
			kinds = append(kinds, gk.String())
		}
	}
	return kinds
}

// describe adds notes about what a reader would not expect.
func (a *application) describe() {
	if len(a.first) > 0 {
		a.note("%s: in %s, which you apply before the first %s", names(a.first), prerequisitesFile, a.Kind.Kind)
	}
	var homeless, constant, secrets, cluster, unknown []*object
	for _, o := range a.objects {
		if textAt(o.given, "metadata", "namespace") == "" && a.namespace != "" && !a.isClusterScoped(o) {
			homeless = append(homeless, o)
		}
		if o.constant && !a.isClusterScoped(o) {
			constant = append(constant, o)
		}
		switch {
		case o.gvk.Kind == "Secret" && o.gvk.Group == "" && (o.given["data"] != nil || o.given["stringData"] != nil):
			secrets = append(secrets, o)
		case a.isClusterScoped(o):
			cluster = append(cluster, o)
		case a.kinds.Scope(o.gvk.GroupKind()) == schema.UnknownScope:
			unknown = append(unknown, o)
		}
	}
	if len(homeless) > 0 && len(homeless) < len(a.objects)-len(cluster) {
		a.note("%s: without a namespace in the manifests; like the other objects, they go to that of the %s", list(homeless),
			a.Kind.Kind)
	}
	a.describeReplicas()
	if sums := a.checksums(); len(sums) > 0 {
		a.note("%s: left out, because the rules would write the same value for ever; to restart Pods with their "+
			"configuration, write an annotation "+
			"such as example.com/config: ${hash.sha256(json.marshal(...))}", strings.Join(sums, ", "))
	}
	if others := a.others(); len(others) > 0 {
		a.note("namespace %s: allowed by allow.namespaces; it has to exist", strings.Join(others, ", "))
	}
	if len(constant) > 0 {
		a.note("%s: the names do not begin with %q and are constant, so only one %s in a namespace can have these objects",
			list(constant), a.name, a.Kind.Kind)
	}
	if len(secrets) > 0 {
		a.note("%s: the values are in %s; generate makes values in the cluster, and a lookup reads a Secret that exists",
			list(secrets), rulesFile)
	}
	if len(cluster) > 0 {
		a.note("%s: cluster-scoped, so only one %s of that name in the cluster can have these objects", list(cluster),
			a.Kind.Kind)
	}
	if len(unknown) > 0 {
		a.note("%s: not checked, because the manifests have no CRD of the kind", list(unknown))
	}
	if kinds := a.privileged(); len(kinds) > 0 {
		a.note("%s: privileged kinds, which --allow-kind has to name; %s does so for commands in this folder",
			strings.Join(kinds, ", "), settingsFile)
	}
}

func list(objects []*object) string {
	var all []string
	for _, o := range objects {
		all = append(all, o.String())
	}
	return strings.Join(all, ", ")
}

func names(objects []*unstructured.Unstructured) string {
	var all []string
	for _, u := range objects {
		all = append(all, u.GetKind()+"/"+u.GetName())
	}
	return strings.Join(all, ", ")
}

// ask asks about each field.
func (set *fieldSet) ask() error {
	if set.app.Ask == nil {
		return nil
	}
	for _, f := range set.all {
		for problem, asked := "", false; !asked || problem != ""; asked = true {
			answer, err := set.app.Ask(f, problem)
			if err != nil {
				return err
			}
			problem = set.answer(f, answer)
		}
	}
	set.all = slices.DeleteFunc(set.all, func(f *Field) bool { return f.constant })
	return nil
}

// answer changes a field, or returns what is wrong with the answer.
func (set *fieldSet) answer(f *Field, answer string) (problem string) {
	switch answer {
	case "":
		return ""
	case "-":
		f.constant = true
		return ""
	}
	path := strings.Split(strings.TrimPrefix(answer, "spec."), ".")
	for _, name := range path {
		if !syntax.IsName(name) {
			return fmt.Sprintf("%q is not the name of a field: write letters and digits, with dots between fields", answer)
		}
	}
	for _, other := range set.all {
		if other != f && !other.constant && (beginsWith(other.Path, path) || beginsWith(path, other.Path)) {
			return fmt.Sprintf("%s is there already", other.Name())
		}
	}
	f.Path = path
	return ""
}
