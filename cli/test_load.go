package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/syntax"
	"reconcel/sim"
	"reconcel/sim/ruletest"
)

// A testLoader loads test files and what they name, the same rules and CRDs
// once.
type testLoader struct {
	app      *app
	programs map[string]*tested       // by the paths of their rules
	order    []*tested                // those that can be tested
	kinds    map[string]*kindsOrError // by the paths of their CRDs and what these lack
	unread   bool                     // something could not be read
}

// A tested is a set of rules with what its tests have reached.
type tested struct {
	loading
	coverage *rules.Coverage
	err      error
}

// kindsOrError are the kinds of a cluster, and the schemas that they are made
// from.
type kindsOrError struct {
	set   *schema.Set
	kinds *sim.Kinds
	err   error
}

// load makes a test file ready to be run.
func (l *testLoader) load(name string) (*ruletest.Suite, error) {
	_, data, err := l.app.read(name)
	if err != nil {
		l.unread = true
		return nil, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	source, dir := syntax.Source{Name: name, Data: data}, filepath.Dir(name)
	file, err := ruletest.Parse(source)
	if err != nil {
		return nil, err
	}
	missing := l.missing(dir, append(slices.Clone(file.Rules), file.CRDs...))
	if err := syntax.Collect([]syntax.Source{source}, missing).Err(); err != nil {
		return nil, err
	}
	ruleFiles, crds := beside(dir, file.Rules, "rules.yaml"), beside(dir, file.CRDs, "crds", "crd.yaml")
	if len(ruleFiles) == 0 {
		l.unread = true
		return nil, fmt.Errorf("%s: there is no rules.yaml beside it: write rules: with the path of the rules", name)
	}
	rules := l.program(ruleFiles)
	if rules.err != nil {
		return nil, rules.err
	}
	kinds := l.kindsOf(crds, rules.program)
	if kinds.err != nil {
		return nil, kinds.err
	}
	if err := rules.misfits(kinds.set); err != nil {
		return nil, err
	}
	return file.Prepare(ruletest.Setting{Program: rules.program, Kinds: kinds.kinds, Coverage: rules.coverage, Load: l.reload(kinds.set), Read: l.read})
}

// missing complains about the paths at which there is nothing.
func (l *testLoader) missing(dir string, written []syntax.String) (wrong []*syntax.Error) {
	for _, w := range written {
		path := from(dir, w.Value)
		if _, err := os.Stat(path); err != nil {
			l.unread = true
			wrong = append(wrong, syntax.NewError(w.Pos, "", fmt.Sprintf("%s: cannot be read: %v", path, cause(err)), ""))
		}
	}
	return wrong
}

// beside returns the paths that a test file names, or else those of the usual
// names that there are beside it.
func beside(dir string, written []syntax.String, usual ...string) (paths []string) {
	for _, w := range written {
		paths = append(paths, from(dir, w.Value))
	}
	if len(written) > 0 {
		return paths
	}
	for _, name := range usual {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, path)
		}
	}
	return paths
}

// from returns a path that is written in a file of a folder.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// program compiles rules. What is wrong with them is told by the first file that
// tests them.
func (l *testLoader) program(paths []string) *tested {
	key := strings.Join(paths, "\n")
	t := l.programs[key]
	if t == nil {
		t = &tested{coverage: &rules.Coverage{}}
		if t.loading, t.err = l.app.compile(ruleFiles{paths: paths}); t.err == nil {
			t.err = t.wrong()
		}
		if t.err == nil {
			l.order = append(l.order, t)
		}
		l.programs[key] = t
	}
	return t
}

// reload returns what compiles rules that take the place of others in a test.
func (l *testLoader) reload(set *schema.Set) func(paths []string) (*rules.Program, error) {
	return func(paths []string) (*rules.Program, error) {
		next, err := l.app.compile(ruleFiles{paths: paths})
		if err == nil {
			err = next.wrong()
		}
		if err == nil {
			err = next.misfits(set)
		}
		return next.program, err
	}
}

// misfits returns what does not fit the schemas of the kinds: rules that run
// would refuse are not worth a test.
func (l loading) misfits(set *schema.Set) error {
	return syntax.Collect(l.sources, l.check(set).Errors).Err()
}

// kindsOf returns the kinds of Kubernetes and of CRDs. A custom kind of the rules
// that no CRD describes is there too, and keeps whatever it gets.
func (l *testLoader) kindsOf(paths []string, program *rules.Program) *kindsOrError {
	defined, err := l.app.crds(search{}, paths)
	if err != nil {
		return &kindsOrError{err: err}
	}
	set, err := defined.schemas()
	if err != nil {
		return &kindsOrError{err: err}
	}
	var more []runtimeschema.GroupVersionKind
	for gvk := range ruletest.Used(program) {
		if set.Kind(gvk) == nil && !rules.BuiltIn(gvk.Group) && defined.crds[gvk.GroupKind()] == nil {
			more = append(more, gvk)
		}
	}
	slices.SortFunc(more, func(a, b runtimeschema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	key := fmt.Sprint(paths, more)
	k := l.kinds[key]
	if k == nil {
		k = &kindsOrError{set: set}
		k.kinds, k.err = sim.NewKinds(set, undescribed(more)...)
		l.kinds[key] = k
	}
	return k
}

// undescribed returns kinds of which nothing is known, as a CRD mostly has them.
func undescribed(gvks []runtimeschema.GroupVersionKind) (kinds []*schema.Kind) {
	for _, gvk := range gvks {
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		kinds = append(kinds, &schema.Kind{GVK: gvk, Resource: resource.Resource, Namespaced: true, Status: true})
	}
	return kinds
}

// read returns the objects in a file that a test names.
func (l *testLoader) read(path string) (all []*unstructured.Unstructured, err error) {
	objects, err := l.app.objects(search{}, []string{path})
	if err != nil {
		var exit *exitError
		l.unread = l.unread || errors.As(err, &exit) && exit.code == exitFailed
		return nil, err
	}
	for _, o := range objects {
		all = append(all, &o.Unstructured)
	}
	return all, nil
}
