package foreign

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"reconcel/internal/yamltext"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Result is what definitions of another project become.
type Result struct {
	Rules    []*yaml.Node
	CRDs     []map[string]any
	Examples []map[string]any
	Report   Report

	names map[string]bool // of the rules
}

// NewResult returns an empty result.
func NewResult() *Result { return &Result{names: map[string]bool{}} }

// Files returns the parts of the result that are not empty: rules, CRDs and examples.
func (r *Result) Files() (all []source.File, err error) {
	rules, err := RulesText(r.Rules)
	if err != nil {
		return nil, err
	}
	all = append(all, source.File{Name: "rules.yaml", Data: rules})
	for _, part := range []struct {
		name    string
		objects []map[string]any
	}{{"crd.yaml", r.CRDs}, {"example.yaml", r.Examples}} {
		if len(part.objects) == 0 {
			continue
		}
		text, err := objectsText(part.objects)
		if err != nil {
			return nil, err
		}
		all = append(all, source.File{Name: part.name, Data: text})
	}
	return all, nil
}

// RulesText returns rules as a file.
func RulesText(rules []*yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	err := encoder.Encode(Map("apiVersion", Text(syntax.APIVersion), "kind", Text(syntax.Kind), "rules", List(rules...)))
	if err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func objectsText(objects []map[string]any) ([]byte, error) {
	var texts [][]byte
	for _, o := range objects {
		text, err := yamltext.Marshal(o)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return bytes.Join(texts, []byte("---\n")), nil
}
