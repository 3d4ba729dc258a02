package syntax

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var (
	selectorShape    = selectorOf(literalOnly)
	requirementShape = requirementOf(literalOnly)

	// It may contain ${...}.
	computedSelector = selectorOf(orComputed)
)

// operators are the operators of a label selector.
var operators = source.Choices{
	{Text: "In", Doc: "The label has one of the values."},
	{Text: "NotIn", Doc: "The label has none of the values, or does not exist."},
	{Text: "Exists", Doc: "The label exists."},
	{Text: "DoesNotExist", Doc: "The label does not exist."},
}

// selectorOf returns the shape of a label selector whose parts are all literal, or
// may all be computed.
func selectorOf(part func(*source.Schema) *source.Schema) source.Shape {
	requirement := requirementOf(part)
	return source.Shape{Keys: []source.Key{
		{Name: "matchLabels", Doc: "Labels that an object must have, with their values.", Value: part(&source.Schema{
			Type:   source.Types{"object", "null"},
			Names:  &source.Schema{Pattern: `^(` + subdomain + `/)?` + qualified + `$`},
			Others: part(labelValue),
		})},
		{Name: "matchExpressions", Doc: "Requirements that an object must meet.",
			Value: part(listOf(part(requirement.Schema())))},
	}}
}

func requirementOf(part func(*source.Schema) *source.Schema) source.Shape {
	return source.Shape{Keys: []source.Key{
		{Name: "key", Required: true, Doc: "The name of the label.",
			Value: part(&source.Schema{Type: source.Types{"string"}, Pattern: `^(` + subdomain + `/)?` + qualified + `$`})},
		{Name: "operator", Required: true, Doc: "The relation of the label to the values.", Value: part(operators.Schema())},
		{Name: "values", Doc: "The values for `In` and `NotIn`; the other operators take no values.",
			Value: part(listOf(part(labelValue)))},
	}}
}

var labelValue = &source.Schema{
	Type:     source.Types{"string"},
	Pattern:  `^(` + qualified + `)?$`,
	Expected: "Expected the value of a label: letters, digits, -, _ and ., with a letter or digit at both ends.",
}

// readLiteralSelector reads a label selector that cannot have expressions. The hint says what to do instead.
func readLiteralSelector(v source.Value, hint string) *source.Node {
	before := v.Reader.Count()
	checkLiteral(v, hint)
	checkSelector(v)
	if v.Reader.Count() > before {
		return nil
	}
	return v.Data()
}

// checkLiteral records an error for every ${...} in data.
func checkLiteral(v source.Value, hint string) {
	const message = "must be a literal, ${...} is not allowed here"
	for _, e := range v.PeekEntries() {
		if strings.Contains(e.Key.Value, "${") {
			v.ErrorAt(e.Key.Pos, message).Hint = hint
		}
		checkLiteral(e.Value, hint)
	}
	for _, item := range v.PeekItems() {
		checkLiteral(item, hint)
	}
	if v.Computed() {
		v.Errorf(message).Hint = hint
	}
}

// readDataSelector reads a label selector that may be one ${...}, or contain ${...}
// in its values.
func readDataSelector(v source.Value) *source.Node {
	before := v.Reader.Count()
	switch {
	case v.Alone(), v.Broken():
	case v.Computed():
		v.Errorf("a label selector with ${...} in it must be a map, or one ${...}").Hint =
			"write it like {matchLabels: {app: \"${self.spec.app}\"}}"
	case v.IsText() && v.Scalar() != "":
		return readSelectorText(v)
	case !v.IsMap():
		v.Errorf("expected a map, text or one ${...}, got %s",
			v.Describe()).Hint = "write it like {matchLabels: {app: web}}, or {} for all objects"
	default:
		checkSelector(v)
	}
	d := v.Data()
	if v.Reader.Count() > before {
		return nil
	}
	return d
}

// SelectorExample is a label selector as text.
const SelectorExample = "app=web,tier in (a, b)"

// ParseSelector returns the label selector that a text stands for, as kubectl takes it. Its operators are those that a
// map has, too.
func ParseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if operatorNames[r.Operator()] == "" {
			return nil, errors.New("it cannot compare with < and >")
		}
	}
	return selector, nil
}

// operatorNames are the operators of a text, as a map writes them.
var operatorNames = map[selection.Operator]string{
	selection.Equals: "In", selection.DoubleEquals: "In", selection.In: "In", selection.NotEquals: "NotIn",
	selection.NotIn: "NotIn", selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
}

// readSelectorText reads a label selector that is written as text, as the map that selects the same.
func readSelectorText(v source.Value) *source.Node {
	selector, err := ParseSelector(v.Scalar())
	if err != nil {
		v.Errorf("is not a label selector: %v", err).Hint =
			"write it like " + SelectorExample + ", or {matchLabels: {app: web}}"
		return nil
	}
	at := v.Pos()
	text := func(s string) *source.Node { return &source.Node{Kind: source.Text, Pos: at, Value: s} }
	field := func(key string, value *source.Node) source.Field {
		return source.Field{Key: source.String{Value: key, Pos: at}, Value: value}
	}
	list := &source.Node{Kind: source.List, Pos: at}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		item := &source.Node{Kind: source.Map, Pos: at, Fields: []source.Field{field("key", text(r.Key())),
			field("operator", text(operatorNames[r.Operator()]))}}
		if values := r.Values().List(); len(values) > 0 {
			node := &source.Node{Kind: source.List, Pos: at}
			for _, value := range values {
				node.Items = append(node.Items, text(value))
			}
			item.Fields = append(item.Fields, field("values", node))
		}
		list.Items = append(list.Items, item)
	}
	return &source.Node{Kind: source.Map, Pos: at, Fields: []source.Field{field("matchExpressions", list)}}
}

// checkSelector checks the parts of a label selector that are not computed.
func checkSelector(v source.Value) {
	if v.Computed() || isPlainMap(v) {
		return
	}
	t := v.Table(&selectorShape)
	if !t.IsMap() {
		return
	}
	if labels := t.Key("matchLabels"); !labels.IsNull() && !labels.Alone() {
		checkLabels(labels)
	}
	if list := t.Key("matchExpressions"); !list.IsNull() && !list.Alone() {
		for _, item := range list.Items() {
			checkRequirement(item)
		}
	}
}

// isPlainMap reports whether the author wrote labels instead of a selector, and
// records an error if so.
func isPlainMap(v source.Value) bool {
	var first *source.Value
	for key := range v.PeekPairs() {
		if selectorShape.Knows(key.Scalar()) {
			return false
		}
		if first == nil {
			first = &key
		}
	}
	if first == nil || !first.IsScalar() {
		return false
	}
	key := first.Scalar()
	first.Errorf("unknown key %q", key).Hint = "write matchLabels: {" + key + ": ...}"
	return true
}

func checkLabels(v source.Value) {
	if !v.IsMap() {
		v.WrongShape("a map")
		return
	}
	for _, e := range v.PeekEntries() {
		if !strings.Contains(e.Key.Value, "${") { // Data has an error for it.
			checkLabelKey(v, e.Key)
		}
		checkLabelValue(e.Value)
	}
}

func checkRequirement(v source.Value) {
	if v.Alone() {
		return
	}
	t := v.Table(&requirementShape)
	if !t.IsMap() {
		return
	}
	if k := t.Key("key"); !k.Computed() {
		if key, ok := k.Literal(); ok {
			checkLabelKey(v, key)
		}
	}
	var operator source.String
	if o := t.Key("operator"); !o.Computed() {
		operator = o.OneOf(operators)
	}
	values := t.Key("values")
	if values.Alone() {
		return
	}
	for _, item := range values.Items() {
		checkLabelValue(item)
	}
	switch takes := slices.Contains([]string{"In", "NotIn"}, operator.Value); {
	case operator.Value == "" || !values.IsNull() && !values.IsList():
	case takes && values.Len() == 0:
		v.ErrorAt(operator.Pos, "operator %s needs values",
			operator.Value).Hint = "write values: [...], or the operator Exists"
	case !takes && values.Len() > 0:
		v.ErrorAt(operator.Pos, "operator %s takes no values", operator.Value).Hint = "remove values, or write In or NotIn"
	}
}

func checkLabelKey(v source.Value, key source.String) {
	if len(validation.IsQualifiedName(key.Value)) > 0 {
		v.ErrorAt(key.Pos, "%q is not the name of a label",
			key.Value).Hint = "at most 63 letters, digits, -, _ and ., or domain/name"
	}
}

// checkLabelValue checks the value of a label unless it is computed.
func checkLabelValue(v source.Value) {
	if v.Computed() || v.IsText() && v.Scalar() == "" {
		return // A label may be empty.
	}
	value, ok := v.Literal()
	if ok && len(validation.IsValidLabelValue(value.Value)) > 0 {
		v.Errorf("%q is not the value of a label", value.Value).Hint = "at most 63 letters, digits, -, _ and ."
	}
}
