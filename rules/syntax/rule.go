package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var ruleShape = shape{
	keys:     []string{"name", "for", "let", "validate", "children", "status", "conditions"},
	required: []string{"name", "for"},
	later: []string{"lookups", "patch", "finalize", "teardown", "requeueAfter", "onRuleRemoval", "serviceAccountName",
		"allow"},
}

// readRule reads one entry of rules.
func (s scope) readRule(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a rule")
		return
	}
	r := &Rule{Pos: s.text.pos(n)}
	// The name first: all other complaints carry it.
	if name := nameOf(n); name != "" {
		s.rule, s.path = name, ""
	}
	t := s.table(n, &ruleShape)
	r.Name = s.ruleName(t["name"])
	if t["for"] != nil {
		r.For = s.key("for").readFor(t["for"])
	}
	names := &names{taken: make(map[string]Pos)}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := n.Content[i+1]; t[n.Content[i].Value] != value {
			names.lose(value)
		}
	}
	r.Let = s.key("let").readLet(t["let"], names)
	r.Validate = s.key("validate").readValidate(t["validate"])
	r.Children = s.key("children").readChildren(t["children"], names)
	r.Status = s.key("status").readStatus(t["status"])
	r.Conditions = s.key("conditions").readConditions(t["conditions"])
	r.Lost, r.Nameless = names.lost, names.nameless
	s.file.Rules = append(s.file.Rules, r)
}

// nameOf returns the name of a rule before anything of it has been checked.
func nameOf(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if name := n.Content[i+1]; n.Content[i].Value == "name" && name.Kind == yaml.ScalarNode && isText(name) {
			return name.Value
		}
	}
	return ""
}

// ruleName reads the name, which is also the value of a label.
func (s scope) ruleName(n *yaml.Node) String {
	name, ok := s.key("name").literal(n)
	if !ok {
		return name
	}
	if len(validation.IsDNS1123Label(name.Value)) > 0 {
		s.errorf(name.Pos, "name must be at most %d lower-case letters, digits and -, with a letter or digit at both ends", maxName)
		return name
	}
	if at, taken := s.names[name.Value]; taken {
		s.errorf(name.Pos, "name is taken by the rule at %s", at)
		return name
	}
	s.names[name.Value] = name.Pos
	return name
}

// claim takes a name for the expressions of a rule, if it is fit and free.
func (s scope) claim(name String, names *names) bool {
	if why := identifier(name.Value); why != "" {
		s.errorf(name.Pos, "%q %s", name.Value, why)
		names.nameless = true
		return false
	}
	if at, taken := names.taken[name.Value]; taken {
		s.errorf(name.Pos, "%q is taken, at %s", name.Value, at)
		return false
	}
	names.taken[name.Value] = name.Pos
	return true
}

// readLet reads the map of named values: a string is CEL, a map or list data.
func (s scope) readLet(n *yaml.Node, names *names) []*Let {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		names.lose(n)
		return nil
	}
	var lets []*Let
	for _, e := range s.entries(n) {
		if e.key.Value == "" {
			s.errorf(e.key.Pos, "a name is empty")
			continue
		}
		let := &Let{Name: e.key, Unfit: !s.claim(e.key, names)}
		value := s.key(e.key.Value)
		if e.value.Kind == yaml.MappingNode || e.value.Kind == yaml.SequenceNode {
			let.Data = value.data(e.value)
		} else {
			let.Expr = value.expr(e.value)
		}
		lets = append(lets, let)
	}
	return lets
}

var checkShape = shape{keys: []string{"expression", "message"}, required: []string{"expression"}}

func (s scope) readValidate(n *yaml.Node) []*Check {
	var checks []*Check
	for i, item := range s.list(n) {
		s := s.index(i).named("")
		t := s.table(item, &checkShape)
		checks = append(checks, &Check{
			Pos:        s.text.pos(item),
			Entry:      s.entry,
			Expression: s.key("expression").expr(t["expression"]),
			Message:    s.key("message").sentence(t["message"]),
		})
	}
	return checks
}

// readStatus reads the fields of status that the rule writes.
func (s scope) readStatus(n *yaml.Node) *Node {
	if isNull(n) || broken(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return nil
	}
	d := s.data(n)
	for i, f := range d.Fields {
		if f.Key.Value == "conditions" {
			s.errorf(f.Key.Pos, "conditions cannot be set here").Hint = "use conditions: of the rule"
			d.Fields = append(d.Fields[:i], d.Fields[i+1:]...)
			break
		}
	}
	return d
}

var conditionShape = shape{keys: []string{"type", "when", "reason", "message"}, required: []string{"type", "when"}}

func (s scope) readConditions(n *yaml.Node) []*Condition {
	var conditions []*Condition
	types := make(map[string]Pos)
	for i, item := range s.list(n) {
		s := s.index(i)
		t := s.named("").table(item, &conditionShape)
		if t == nil {
			continue
		}
		s = s.named(scalarText(t["type"]))
		conditions = append(conditions, &Condition{
			Pos:     s.text.pos(item),
			Entry:   s.entry,
			Type:    s.conditionType(t["type"], types),
			When:    s.key("when").expr(t["when"]),
			Reason:  s.key("reason").reason(t["reason"]),
			Message: s.key("message").sentence(t["message"]),
		})
	}
	return conditions
}

// scalarText returns the text of a scalar, to name an entry by.
func scalarText(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

func (s scope) conditionType(n *yaml.Node, types map[string]Pos) String {
	typ, ok := s.key("type").literal(n)
	if !ok {
		return typ
	}
	switch at, taken := types[typ.Value]; {
	case typ.Value == "Ready", typ.Value == "Reconciling", typ.Value == "Stalled":
		s.errorf(typ.Pos, "type %s is reconcel's own", typ.Value).Hint = "choose another name"
		return String{}
	case len(validation.IsQualifiedName(typ.Value)) > 0:
		s.errorf(typ.Pos, "type must be letters, digits, -, _ and ., with a letter or digit at both ends")
		return String{}
	case taken:
		s.errorf(typ.Pos, "type is taken, at %s", at)
		return String{}
	}
	types[typ.Value] = typ.Pos
	return typ
}

// reason reads a word for programs, which the API server holds to a form.
func (s scope) reason(n *yaml.Node) *Node {
	d := s.sentence(n)
	if d == nil || d.Kind != Text {
		return d
	}
	if word := d.Value.(string); !isReason(word) {
		e := s.errorf(d.Pos, "%q must be one word of letters, digits and _", word)
		if strings.Contains(word, " ") {
			e.Hint = "write CamelCase here and put the sentence into message"
		}
		return nil
	}
	return d
}

func isReason(word string) bool {
	if word == "" || !isLetter(rune(word[0])) || strings.HasSuffix(word, ",") || strings.HasSuffix(word, ":") {
		return false
	}
	for _, r := range word {
		if !isIdent(r) && r != ',' && r != ':' {
			return false
		}
	}
	return true
}
