package testfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/ruletest"
	"reconcel/internal/disk"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A Loader loads test files and the files that they name. It loads the same rules
// and CRDs once.
type Loader struct {
	reader   files.Reader
	policy   judge.Policy
	project  Project
	programs map[string]*tested    // by the paths of their rules
	order    []*tested             // those without errors
	kinds    map[string]*sim.Kinds // by the paths of the CRDs, and the kinds that they lack
	unread   bool                  // a file could not be read
}

// A Project has the rules and CRDs of tests that name none, and have none beside them.
type Project struct{ Rules, CRDs []string }

// New returns a Loader that judges rules with a policy.
func New(reader files.Reader, policy judge.Policy, project Project) *Loader {
	return &Loader{reader: reader, policy: policy, project: project, programs: map[string]*tested{},
		kinds: map[string]*sim.Kinds{}}
}

// Unread tells whether a file could not be read.
func (l *Loader) Unread() bool { return l.unread }

// Cover adds the coverage of all loaded rules to a report.
func (l *Loader) Cover(report *ruletest.Report) {
	for _, t := range l.order {
		report.Cover(t.Program, t.coverage)
	}
}

// A tested is a set of rules with the coverage of its tests.
type tested struct {
	*rules.Loaded
	coverage *rules.Coverage
}

// Load loads a test file with its rules and CRDs.
func (l *Loader) Load(name string) (*ruletest.Suite, error) {
	tests, err := l.reader.Read(name)
	if err != nil {
		l.unread = true
		return nil, fmt.Errorf("%s: cannot be read: %w", name, err)
	}
	dir := filepath.Dir(name)
	file, err := ruletest.Parse(tests)
	if err != nil {
		return nil, err
	}
	missing := l.missing(dir, append(slices.Clone(file.Rules), file.CRDs...))
	if err := source.Collect([]source.File{tests}, missing).Err(); err != nil {
		return nil, err
	}
	paths, crds := pathsBeside(dir, file.Rules, "rules.yaml"), pathsBeside(dir, file.CRDs, "crds", "crd.yaml")
	if len(paths) == 0 {
		paths = l.project.Rules
	}
	if len(crds) == 0 {
		crds = l.reader.Definitions(paths)
	}
	if len(crds) == 0 {
		crds = l.project.CRDs
	}
	if len(paths) == 0 {
		l.unread = true
		return nil, fmt.Errorf("%s: there is no rules.yaml beside it: set rules: to the path of the rules, here or in "+
			"reconcel.yaml", name)
	}
	defined, err := offline.ReadKinds(l.reader, crds)
	if err != nil {
		return nil, err
	}
	rules, err := l.rules(paths, defined.Set)
	if err != nil {
		return nil, err
	}
	kinds, err := l.kindsOf(crds, defined, rules.Program)
	if err != nil {
		return nil, err
	}
	return file.Prepare(ruletest.Setting{Program: rules.Program, Kinds: kinds, Coverage: rules.coverage,
		Load: l.reload(defined.Set), Read: l.read})
}

// missing returns an error for each path that cannot be read.
func (l *Loader) missing(dir string, written []source.String) (wrong []*source.Error) {
	for _, w := range written {
		path := resolvePath(dir, w.Value)
		if _, err := disk.Stat(path); err != nil {
			l.unread = true
			wrong = append(wrong, source.NewError(w.Pos, "", fmt.Sprintf("%s: cannot be read: %v", path, exit.Cause(err)), ""))
		}
	}
	return wrong
}

// pathsBeside returns the paths that a test file names, or else the usual files that
// exist next to it.
func pathsBeside(dir string, written []source.String, usual ...string) (paths []string) {
	for _, w := range written {
		paths = append(paths, resolvePath(dir, w.Value))
	}
	if len(written) > 0 {
		return paths
	}
	for _, name := range usual {
		path := filepath.Join(dir, name)
		if _, err := disk.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, path)
		}
	}
	return paths
}

// resolvePath resolves a path relative to a folder.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// rules loads the rules that a test file names, and judges them with its CRDs.
func (l *Loader) rules(paths []string, set *schema.Set) (*tested, error) {
	key := strings.Join(paths, "\n")
	t := l.programs[key]
	if t == nil {
		t = &tested{Loaded: l.compile(paths), coverage: &rules.Coverage{}}
		l.programs[key] = t
		if t.Program != nil {
			l.order = append(l.order, t)
		}
	}
	return t, judge.Of(t.Loaded, set, l.policy).Err()
}

func (l *Loader) compile(paths []string) *rules.Loaded {
	sources, unread := l.reader.Rules(paths)
	return rules.Compile(sources, unread...)
}

// reload returns a function that loads the rules of a step that replaces rules.
func (l *Loader) reload(set *schema.Set) func(paths []string) (*rules.Program, error) {
	return func(paths []string) (*rules.Program, error) {
		next := l.compile(paths)
		return next.Program, judge.Of(next, set, l.policy).Err()
	}
}

// kindsOf returns the kinds that a test can use.
func (l *Loader) kindsOf(crds []string, defined offline.Kinds, program *rules.Program) (*sim.Kinds, error) {
	key := fmt.Sprint(crds, defined.Undescribed(program))
	if l.kinds[key] == nil {
		made, err := defined.Simulated(program)
		if err != nil {
			return nil, err
		}
		l.kinds[key] = made
	}
	return l.kinds[key], nil
}

func (l *Loader) read(path string) (all []*unstructured.Unstructured, err error) {
	objects, err := l.reader.Objects([]string{path})
	if err != nil {
		code, _ := exit.Code(err)
		l.unread = l.unread || code == exit.Failed
		return nil, err
	}
	for _, o := range objects {
		all = append(all, &o.Unstructured)
	}
	return all, nil
}
