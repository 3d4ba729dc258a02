package reference

import (
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fieldChecks lists the validations of a CRD, a row for each.
func fieldChecks(path string, s *spec.Schema) (rows [][]Text) {
	for _, check := range validationsOf(s) {
		words := &phrasing{at: path}
		of := compose("the resource")
		if path != "" {
			of = code(path)
		}
		text, _ := check["rule"].(string)
		message, _ := check["message"].(string)
		told := compose(message)
		if computed, ok := check["messageExpression"].(string); ok && message == "" {
			told = code(oneLine(computed))
		}
		rows = append(rows, []Text{of, words.condition(text), told})
	}
	for _, f := range fieldsIn(path, s) {
		rows = append(rows, fieldChecks(f.path, f.schema)...)
	}
	if element, step := elementOf(s); element != nil {
		rows = append(rows, fieldChecks(path+step, element)...)
	}
	return rows
}

func validationsOf(s *spec.Schema) (all []map[string]any) {
	checks, _ := s.Extensions["x-kubernetes-validations"].([]any)
	for _, item := range checks {
		if check, ok := item.(map[string]any); ok {
			all = append(all, check)
		}
	}
	return all
}

// checks lists what the rule's validate requires, a row for each.
func (v *ruleView) checks() (rows [][]Text) {
	for _, c := range v.src.Validate {
		rows = append(rows, []Text{v.words.condition(c.Expression.Text), v.message(c.Message)})
	}
	return rows
}

// checks describes what is checked of the resources.
func (k *kindView) checks() []Section {
	kind, root := k.gvk.Kind, k.version.Schema.OpenAPIV3Schema
	s := Section{Title: compose("Checks"), Level: 2}
	stated := map[string]bool{} // by the API server, which comes first
	if root != nil {
		rows := fieldChecks("", root)
		for _, row := range rows {
			stated[row[1].String()] = true
		}
		if len(rows) > 0 {
			s.Blocks = append(s.Blocks, paragraph("The API server accepts ", article(kind), " only if these are true:"), table([]string{"Field", "Required", "Message"}, rows))
		}
	}
	var rows [][]Text
	for _, v := range k.rules {
		for _, row := range v.checks() {
			if !stated[row[0].String()] {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) > 0 {
		s.Blocks = append(s.Blocks, paragraph("These are checked after the ", kind, " is stored. While one of them is not true, the ", kind, " is not ready, with the reason ", code("InvalidSpec"), ", and its objects stay as they are:"),
			table([]string{"Required", "Message"}, rows))
	}
	if len(s.Blocks) == 0 {
		return nil
	}
	return []Section{s}
}
