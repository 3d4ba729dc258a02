package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	selectorShape    = selectorOf(literally)
	requirementShape = requirementOf(literally)

	// Where ${...} may stand for values.
	computedSelector = selectorOf(orComputed)
)

// operators are what a label selector may ask about a label.
var operators = choices{
	{"In", "The label has one of the values."},
	{"NotIn", "The label has none of the values, or is not there."},
	{"Exists", "The label is there."},
	{"DoesNotExist", "The label is not there."},
}

// selectorOf returns the shape of a label selector whose parts are literals,
// or may be computed.
func selectorOf(part func(*schema) *schema) shape {
	requirement := requirementOf(part)
	return shape{keys: []key{
		{name: "matchLabels", doc: "Labels and their values, all of which an object must have.", value: part(&schema{
			Type:   types{"object", "null"},
			Names:  &schema{Pattern: `^(` + subdomain + `/)?` + qualified + `$`},
			Others: part(labelValue),
		})},
		{name: "matchExpressions", doc: "Questions about labels, each of which an object must answer with yes.",
			value: part(listOf(part(mapOf(&requirement))))},
	}}
}

func requirementOf(part func(*schema) *schema) shape {
	return shape{keys: []key{
		{name: "key", required: true, doc: "The name of the label.",
			value: part(&schema{Type: types{"string"}, Pattern: `^(` + subdomain + `/)?` + qualified + `$`})},
		{name: "operator", required: true, doc: "What is asked about it.", value: part(choiceOf(operators))},
		{name: "values", doc: "What `In` and `NotIn` compare it with; the other operators take no values.", value: part(listOf(part(labelValue)))},
	}}
}

var labelValue = &schema{
	Type:     types{"string"},
	Pattern:  `^(` + qualified + `)?$`,
	Expected: "Expected the value of a label: letters, digits, -, _ and ., with a letter or digit at both ends.",
}

// literalSelector reads a label selector that goes to the API server before
// there is an object to evaluate anything on.
func (s scope) literalSelector(n *yaml.Node) *Node {
	before := len(s.errs)
	s.checkLiteral(n)
	s.checkSelector(n)
	if len(s.errs) > before {
		return nil
	}
	return s.data(n)
}

// checkLiteral complains about every ${...} in data.
func (s scope) checkLiteral(n *yaml.Node) {
	const (
		message = "must be a literal, ${...} is not possible here"
		hint    = "it goes to the API server before there is an object: what depends on the object belongs into for.when"
	)
	switch n.Kind {
	case yaml.MappingNode:
		for _, e := range s.muted().entries(n) {
			if strings.Contains(e.key.Value, "${") {
				s.errorf(e.key.Pos, message).Hint = hint
			}
			s.key(e.key.Value).checkLiteral(e.value)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			s.index(i).checkLiteral(item)
		}
	default:
		if computed(n) {
			s.errorf(s.text.pos(n), message).Hint = hint
		}
	}
}

// dataSelector reads a label selector in which ${...} may stand for the whole
// of it or for any value in it.
func (s scope) dataSelector(n *yaml.Node) *Node {
	before := len(s.errs)
	switch {
	case s.alone(n):
	case n.Kind != yaml.MappingNode:
		s.notSelector(n)
	default:
		s.checkSelector(n)
	}
	d := s.data(n)
	if len(s.errs) > before {
		return nil
	}
	return d
}

func (s scope) notSelector(n *yaml.Node) {
	if broken(n) {
		return
	}
	e := s.errorf(s.text.pos(n), "expected a map or one ${...}, got %s", describe(n))
	e.Hint = "write it like {matchLabels: {app: web}}, or {} for all objects"
}

// computed tells whether ${...} stands in a scalar.
func computed(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && isText(n) && strings.Contains(n.Value, "${")
}

// alone tells whether a single ${...} is all of a scalar, so that it may give
// a map or a list. One that is never closed was meant so too.
func (s scope) alone(n *yaml.Node) bool {
	if !computed(n) {
		return false
	}
	d := s.muted().data(n)
	return d == nil || d.Kind == Interp && len(d.Parts) == 1
}

// checkSelector checks what is not computed of a label selector.
func (s scope) checkSelector(n *yaml.Node) {
	if computed(n) || s.isPlainMap(n) {
		return
	}
	t := s.table(n, &selectorShape)
	if t == nil {
		return
	}
	if labels := t["matchLabels"]; !isNull(labels) && !s.alone(labels) {
		s.key("matchLabels").checkLabels(labels)
	}
	if list := t["matchExpressions"]; !isNull(list) && !s.alone(list) {
		for i, item := range s.key("matchExpressions").list(list) {
			s.key("matchExpressions").index(i).requirement(item)
		}
	}
}

// isPlainMap complains about labels that stand where a selector is expected.
func (s scope) isPlainMap(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if selectorShape.has(key) || selectorShape.meant(key) != "" {
			return false
		}
	}
	key := n.Content[0]
	if broken(key) || key.Kind != yaml.ScalarNode {
		return false
	}
	s.errorf(s.text.pos(key), "unknown key %q", key.Value).Hint = "write matchLabels: {" + key.Value + ": ...}"
	return true
}

func (s scope) checkLabels(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		s.wrongShape(n, "a map")
		return
	}
	for _, e := range s.entries(n) {
		if !strings.Contains(e.key.Value, "${") { // Complained about as data.
			s.labelKey(e.key)
		}
		s.key(e.key.Value).labelValue(e.value)
	}
}

func (s scope) requirement(n *yaml.Node) {
	if s.alone(n) {
		return
	}
	t := s.table(n, &requirementShape)
	if t == nil {
		return
	}
	if k := t["key"]; k != nil && !computed(k) {
		if key, ok := s.key("key").literal(k); ok {
			s.labelKey(key)
		}
	}
	var operator String
	if o := t["operator"]; o != nil && !computed(o) {
		operator = s.key("operator").oneOf(o, operators)
	}
	if values := t["values"]; values != nil && s.alone(values) {
		return
	}
	values := s.key("values").list(t["values"])
	for i, item := range values {
		s.key("values").index(i).labelValue(item)
	}
	switch takes := slices.Contains([]string{"In", "NotIn"}, operator.Value); {
	case operator.Value == "" || !isNull(t["values"]) && t["values"].Kind != yaml.SequenceNode:
	case takes && len(values) == 0:
		s.errorf(operator.Pos, "operator %s needs values", operator.Value).Hint = "write values: [...], or the operator Exists"
	case !takes && len(values) > 0:
		s.errorf(operator.Pos, "operator %s takes no values", operator.Value).Hint = "remove values, or write In or NotIn"
	}
}

func (s scope) labelKey(key String) {
	if len(validation.IsQualifiedName(key.Value)) > 0 {
		s.errorf(key.Pos, "%q is not the name of a label", key.Value).Hint = "at most 63 letters, digits, -, _ and ., or domain/name"
	}
}

// labelValue checks the value of a label that is not computed.
func (s scope) labelValue(n *yaml.Node) {
	if computed(n) || n.Kind == yaml.ScalarNode && isText(n) && n.Value == "" {
		return // A label may be empty.
	}
	value, ok := s.literal(n)
	if ok && len(validation.IsValidLabelValue(value.Value)) > 0 {
		s.errorf(value.Pos, "%q is not the value of a label", value.Value).Hint = "at most 63 letters, digits, -, _ and ."
	}
}
