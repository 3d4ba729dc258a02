package syntax

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/source"
)

// APIVersion and Kind identify a rules file.
const (
	APIVersion = "reconcel.dev/v1alpha1"
	Kind       = "Rules"
)

// MaxRules is the maximum number of rules in all files together. A rule counts once for
// each of its kinds.
const MaxRules = 1024

var documentShape = source.Shape{
	Doc: "Rules of reconcel: which objects a resource owns, and what its status is.",
	Keys: []source.Key{
		{Name: "apiVersion", Doc: "The version of the language.", Value: constantText(APIVersion), Required: true},
		{Name: "kind", Doc: "Identifies a rules file.", Value: constantText(Kind), Required: true},
		{Name: "metadata", Value: orNothing(objectMetadataShape.Schema()),
			Doc: "The name of the Rules object that the document is in a cluster, and what else an object has."},
		{Name: "define", Value: defineData, Doc: "Named values and functions that all rules beside it can use: a string is " +
			"an expression, a map or list is data with " +
			"`${...}`. `name(parameter type, ...)` is a function. Values are computed when the rules load."},
		{Name: "rules", Doc: "The rules. All files of one reconcel form one set.", Required: true,
			Value: &source.Schema{Type: source.Types{"array"}, Items: ruleShape.Schema(), MaxItems: new(MaxRules)}},
		{Name: "status", Doc: "What reconcel reports about the object. In a file, it is ignored.", Value: anything},
	},
	Wrong: map[string]source.WrongKey{
		"definitions": {Means: "define"}, "functions": {Means: "define"}, "constants": {Means: "define"},
		"vars": {Means: "define"}, "let": {Hint: "write let into a rule, or define for all rules of the file",
			Means: "define"},
		"spec": {Hint: "write rules beside metadata: there is no spec", Means: "rules"},
	},
	More: source.Schema{Type: source.Types{"null"}}, // There may be nothing after the last ---.
}

// A parser collects the rules of all files.
type parser struct {
	source.Reader
	file    *File
	names   map[string]source.Pos // of rules
	defined *Definitions          // of the document being read, or nil
}

func newParser() *parser {
	return &parser{Reader: source.Reader{RuleDepth: 3}, file: &File{parts: map[string]part{}},
		names: make(map[string]source.Pos)}
}

// ExpressionsIn returns the expressions of a rules file as far as it can be read.
func ExpressionsIn(file source.File) []*source.Expr {
	p := newParser()
	p.readFile(file)
	return p.Expressions()
}

// Parse reads rules files. Its error is a source.Errors with every error in every
// file. The File contains everything that could be read, even after errors, so that
// a compiler can add its own errors. A File with errors must not be used for
// rendering.
func Parse(files []source.File) (*File, error) { return (&File{}).ParseAgain(files) }

// ParseAgain is Parse for the next version of files. It shares the rules of those that have not changed.
func (f *File) ParseAgain(files []source.File) (*File, error) {
	p := newParser()
	for _, file := range files {
		if earlier, known := f.parts[file.Name]; known && len(file.Beside) == 0 && bytes.Equal(earlier.text, file.Data) &&
			p.share(earlier) {
			p.file.parts[file.Name] = earlier
			continue
		}
		errs, definitions, ruled, passed := p.Count(), len(p.file.Definitions), len(p.file.Rules), len(p.file.PassedOver)
		documents := len(p.file.Documents)
		p.readFile(file)
		if p.Count() == errs && len(p.file.Definitions) == definitions && len(file.Beside) == 0 {
			p.file.parts[file.Name] = part{file.Data, slices.Clone(p.file.Rules[ruled:]),
				slices.Clone(p.file.Documents[documents:]), slices.Clone(p.file.PassedOver[passed:])}
		}
	}
	return p.file, p.Err(files...)
}

// share adds what an earlier version of a file has, and reports whether it does: a rule may be one too many now.
func (p *parser) share(earlier part) bool {
	if len(p.file.Rules)+len(earlier.rules) > MaxRules {
		return false
	}
	for _, r := range earlier.rules {
		if _, taken := p.names[r.Name.Value]; taken {
			return false
		}
	}
	for _, r := range earlier.rules {
		p.names[r.Name.Value] = r.Name.Pos
	}
	p.file.Rules = append(p.file.Rules, earlier.rules...)
	p.file.Documents = append(p.file.Documents, earlier.documents...)
	p.file.PassedOver = append(p.file.PassedOver, earlier.passedOver...)
	return true
}

// readFile reads the documents of a file.
func (p *parser) readFile(file source.File) {
	before := p.Count()
	docs, _ := p.Documents(file)
	mixed := slices.ContainsFunc(docs, isMeant)
	for _, doc := range docs {
		if mixed && isForeign(doc) {
			p.file.PassedOver = append(p.file.PassedOver,
				source.NewError(doc.Pos(), "", "is a "+doc.Peek("kind").Scalar()+", passed over", ""))
			continue
		}
		p.readDocument(doc)
	}
	if len(docs) == 0 && p.Count() == before {
		p.Add(withoutRules(file))
	}
}

// withoutRules returns the error for a file without documents.
func withoutRules(file source.File) *source.Error {
	e := source.NewError(source.Pos{File: file.Name, Line: 1, Column: 1}, "", "file has no rules",
		fmt.Sprintf("write a document with apiVersion: %s, kind: %s and rules:", APIVersion, Kind))
	if len(bytes.TrimSpace(file.Data)) == 0 {
		e.Message, e.Hint = "file is empty", e.Hint+"; "+source.Emptied
	}
	return e
}

// JSONSchema returns a JSON Schema of rules files, for completion and validation in
// editors. It is generated from the shapes that Parse uses, and accepts everything
// that Parse accepts.
func JSONSchema() []byte { return documentShape.JSONSchema("reconcel schema") }

// Schema returns the schema of rules files, for their documentation.
func Schema() *source.Schema { return documentShape.Schema() }

// readDefinitions reads the definitions of a document.
func (p *parser) readDefinitions(define source.Value) {
	p.defined = nil
	if !define.Missing() {
		p.defined = &Definitions{at: map[string]source.Pos{}}
		p.file.Definitions = append(p.file.Definitions, p.defined)
		p.defined.read(define)
	}
}

func (p *parser) readDocument(v source.Value) {
	if v.Broken() {
		return
	}
	if !v.IsMap() {
		v.Errorf("expected a map with apiVersion, kind and rules, got %s", v.Describe())
		return
	}
	if !isRules(v) {
		return
	}
	t := v.Table(&documentShape)
	metadata := t.Key("metadata")
	checkObject(v, metadata)
	p.file.Documents = append(p.file.Documents, documentOf(v.Pos().File, metadata))
	p.readDefinitions(t.Key("define"))
	begin := len(p.Expressions())
	defer func() {
		if p.defined != nil {
			p.defined.Expressions = p.Expressions()[begin:]
		}
	}()
	rules := t.Key("rules")
	if !rules.Missing() && rules.IsNull() {
		// A file may be unfinished, or a template may have rendered nothing.
		// Require an explicit empty list, because it has consequences: some rules
		// delete all their objects when they are removed.
		rules.Errorf("is empty").Hint = "write rules: [] for no rules"
	}
	for _, item := range rules.Items() {
		if len(p.file.Rules) >= MaxRules {
			v.ErrorAt(item.Pos(), "more than %d rules", MaxRules)
			return
		}
		p.readRule(item)
	}
}

// otherFiles say what to do with a file of another kind.
var otherFiles = map[string]string{
	"CustomResourceDefinition": "give CRDs with --crd",
	"Kustomization":            "give the rules themselves with -f",
	"ResourceGraphDefinition": "the rules of kro are written differently: docs/comparison.md lists what its keys are " +
		"called here",
}

// isRules reports whether a document is a rules file, and records an error if not.
// The content of other documents is not read.
func isRules(v source.Value) bool {
	ok := true
	for _, want := range [][2]string{{"apiVersion", APIVersion}, {"kind", Kind}} {
		key, value := want[0], want[1]
		got := v.Peek(key)
		switch {
		case got.Missing():
			v.Errorf("missing %s", key).Hint = "write " + key + ": " + value
		case got.Broken():
		case got.Scalar() == value:
			continue
		default:
			name := got.Describe()
			if got.IsScalar() && !got.IsNull() {
				name = fmt.Sprintf("%q", got.Scalar())
			}
			got.Errorf("expected %q, got %s", value, name).Hint = cmp.Or(otherFiles[got.Scalar()], "write "+key+": "+value)
		}
		ok = false
	}
	return ok
}

// IsExpression reports whether a scalar with this schema is a bare expression.
func IsExpression(s *source.Schema) bool { return s.Pattern == bareCEL }

// Meant reports whether a file is meant to have rules, as far as one can see: people keep
// CRDs, samples and settings in the folder of their rules.
func Meant(file source.File) bool {
	r := &source.Reader{}
	docs, isYAML := r.Documents(file)
	if !isYAML {
		return bytes.Contains(file.Data, []byte(group+"/")) || bytes.Contains(file.Data, []byte("kind: "+Kind+"\n"))
	}
	return len(docs) == 0 || slices.ContainsFunc(docs, isMeant)
}

// group is the API group of rules files.
const group = "reconcel.dev"

// isMeant reports whether a document is meant to have rules, also if its apiVersion or
// kind is missing or misspelt.
func isMeant(v source.Value) bool {
	if !v.IsMap() {
		return false
	}
	apiVersion := v.Peek("apiVersion").Scalar()
	name, _, _ := strings.Cut(apiVersion, "/")
	return name == group || v.Peek("kind").Scalar() == Kind || source.Nearest(apiVersion, []string{APIVersion}) != "" ||
		apiVersion == "" && !v.Peek("rules").Missing() && v.Peek("cases").Missing()
}

// isForeign reports whether a document is an object of another API. Beside rules, it is
// passed over.
func isForeign(v source.Value) bool {
	return v.IsMap() && v.Peek("apiVersion").Scalar() != "" && v.Peek("kind").Scalar() != "" && !isMeant(v)
}
