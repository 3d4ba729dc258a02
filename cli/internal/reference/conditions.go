package reference

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
)

// standard are the conditions that reconcel reports for every resource.
var standard = [][2]string{
	{"Ready", "all objects are up to date and ready"},
	{"Reconciling", "the resource is on its way"},
	{"Stalled", "the resource does not get ready until something changes: it, the rules or the cluster"},
	{"Kept", "objects stay that the resource no longer asks for"},
	{"Held", "a change of the rules waits for approval"},
}

// ownConditions lists the conditions that the rule computes, a row for each.
func (v *ruleView) ownConditions() (rows [][]Text) {
	for _, c := range v.src.Conditions {
		when := compose("always")
		if c.When != nil {
			when = compose("if ", v.words.condition(c.When.Text))
		}
		if each := v.each(c.ForEach); each != nil {
			when = compose(each, ": ", when)
		}
		rows = append(rows, []Text{code(v.names.text(c.Type)), when, v.message(c.Message)})
	}
	return rows
}

// message shows a text of the rules. What differs between resources is as in names.
func (v *ruleView) message(n *source.Node) Text {
	if n == nil {
		return nil
	}
	if e := alone(n); e != nil {
		text := e.Text
		root, wrong := unchecked.Parse(&source.Expr{Text: text})
		if wrong == "" && root.Kind() == ast.IdentKind {
			root = newExpander(v.src).expand(text, nil)
		}
		if root != nil {
			if all, ok := v.alternatives(root); ok {
				return lines(all)
			}
		}
		return v.words.written(text)
	}
	return compose(v.names.message(n))
}

// alternatives returns the texts that an expression chooses from.
func (v *ruleView) alternatives(e ast.Expr) (all []Text, ok bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.Conditional {
		text, ok := v.names.of(e)
		return []Text{compose(text)}, ok
	}
	for _, branch := range e.AsCall().Args()[1:] {
		texts, ok := v.alternatives(branch)
		if !ok {
			return nil, false
		}
		all = append(all, texts...)
	}
	return all, true
}

// conditions describes the conditions of the kind, which all its rules share.
func (k *kindView) conditions() Section {
	kind := k.gvk.Kind
	s := Section{Title: compose("Conditions"), Level: 2}
	if !k.version.hasConditions() {
		told := []any{"reconcel writes no conditions of ", article(kind), ". Events report problems: ", code("kubectl events --for " + lower(kind) + "/NAME"), "."}
		if slices.ContainsFunc(k.rules, func(v *ruleView) bool { return v.rule.Annotates }) {
			told = append(told, " The annotation ", code(rules.AnnotationStatus), " says whether it is ready.")
		}
		s.Blocks = append(s.Blocks, paragraph(told...))
		return s
	}
	s.Blocks = append(s.Blocks, paragraph("To wait until ", article(kind), " is ready: ", code("kubectl wait --for=condition=Ready "+lower(kind)+"/NAME"), "."))
	var rows [][]Text
	for _, c := range standard {
		rows = append(rows, []Text{code(c[0]), compose("if " + c[1])})
	}
	s.Blocks = append(s.Blocks, table([]string{"Condition", "True"}, rows))
	rows = nil
	for _, v := range k.rules {
		rows = append(rows, v.ownConditions()...)
	}
	if len(rows) > 0 {
		s.Blocks = append(s.Blocks, Block{Text: compose(article(kind), " also has:").upper()}, table([]string{"Condition", "True", "Message"}, rows))
	}
	rows = nil
	for _, r := range reasons {
		if r.meets == nil || slices.ContainsFunc(k.rules, r.meets) {
			rows = append(rows, []Text{code(r.name), code(r.condition), compose(r.meaning), compose(r.remedy)})
		}
	}
	s.Blocks = append(s.Blocks, paragraph("These reasons say why. ", code("Ready"), " has the same reason as ", code("Reconciling"), " or ", code("Stalled"), "."),
		table([]string{"Reason", "Of", "Meaning", "What to do"}, rows))
	return s
}
