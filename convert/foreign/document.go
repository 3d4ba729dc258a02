package foreign

import (
	"cmp"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
)

// A Document is an object of the input.
type Document struct {
	GVK  schema.GroupVersionKind
	Name string
	Node *source.Node
}

// A Reading is how the texts of a project's documents are read.
type Reading func(source.Value) *source.Node

// The readings.
var (
	Interpolated Reading = source.Value.Data   // ${...} is an expression
	Verbatim     Reading = source.Value.AsItIs // ${...} has no meaning
)

// Documents reads the objects of files. What cannot be read is in the report.
func Documents(files []source.File, report *Report, read Reading) (all []Document) {
	for _, file := range files {
		reader := &source.Reader{}
		values, _ := reader.Documents(file)
		for _, v := range values {
			if !v.IsMap() {
				continue
			}
			gv, _ := schema.ParseGroupVersion(v.Peek("apiVersion").Scalar())
			all = append(all, Document{
				GVK:  gv.WithKind(v.Peek("kind").Scalar()),
				Name: v.Peek("metadata").Peek("name").Scalar(),
				Node: read(v),
			})
		}
		if wrong, ok := errors.AsType[source.Errors](reader.Err(file)); ok {
			report.Add(wrong...)
		}
	}
	return all
}

// Examples returns the documents of the kinds, as they are in the input.
func Examples(files []source.File, kinds func(schema.GroupVersionKind) bool) (all []map[string]any) {
	for _, d := range Documents(files, &Report{}, Verbatim) {
		if object, ok := d.Node.Plain().(map[string]any); ok && kinds(d.GVK) {
			all = append(all, object)
		}
	}
	return all
}

// RuleName returns a name for a rule that no other one of the result has.
func (r *Result) RuleName(name, kind string) string {
	name, _, _ = strings.Cut(name, ".")
	base := cmp.Or(name, strings.ToLower(kind))
	if taken := r.names[base]; !taken {
		r.names[base] = true
		return base
	}
	base = strings.ToLower(kind)
	for name = base; r.names[name]; name += "-x" {
	}
	r.names[name] = true
	return name
}
