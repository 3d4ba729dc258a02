package ruletest

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/sim"
)

// A File is a test file that has the right keys. Its cases are not read yet, because
// that needs the rules and CRDs.
type File struct {
	Rules []source.String // paths, as written in the file
	CRDs  []source.String // paths, as written in the file

	source source.File
	cases  *source.Node
}

// Parse parses a test file. Its error is a source.Errors with all complaints about
// keys and types.
func Parse(file source.File) (*File, error) {
	root, err := fileShape.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return &File{Rules: literalsIn(root.At("rules")), CRDs: literalsIn(root.At("crds")), source: file,
		cases: root.At("cases")}, nil
}

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
	name    string // of the file
	setting Setting
	cases   []*Case
}

// Prepare reads the cases, with the files and kinds that they name. Its error is a
// source.Errors with all complaints.
func (f *File) Prepare(setting Setting) (*Suite, error) {
	r := &reader{setting: setting, file: f.source.Name, kinds: newKindNames(setting), taken: map[string]source.Pos{}}
	suite := &Suite{name: f.source.Name, setting: setting}
	for _, n := range itemsIn(f.cases) {
		suite.cases = append(suite.cases, r.readCase(n))
	}
	if len(suite.cases) == 0 {
		r.entry = ""
		r.complain(f.cases.Pos, "", "there are no cases")
	}
	if err := source.Collect([]source.File{f.source}, r.errs).Err(); err != nil {
		return nil, err
	}
	return suite, nil
}

// besideFile returns a path in a test file, which is relative to the file, relative
// to the working directory.
func besideFile(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// literalAt returns the text under a key, or "".
func literalAt(n *source.Node, key string) string { return n.At(key).Literal().Value }

// itemsIn returns the items of a list. A single value is a list of one item.
func itemsIn(n *source.Node) []*source.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != source.List:
		return []*source.Node{n}
	}
	return n.Items
}

func literalsIn(n *source.Node) (all []source.String) {
	for _, item := range itemsIn(n) {
		all = append(all, item.Literal())
	}
	return all
}
