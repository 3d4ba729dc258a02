package expr

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/parser"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"reconcel/rules/syntax"
)

// selectsFunction is what the macro selects() calls, with a selector and the labels of an object.
const selectsFunction = "@selects"

// The errors of label selectors, which show no values.
const (
	noSelector  = failure("must be a label selector with matchLabels or matchExpressions, or a text such as app=web")
	badSelector = failure("is not a valid label selector")
	badText     = failure("is not a label selector such as " + syntax.SelectorExample)
)

// SelectorOf returns the label selector that a value in the form of a JSON decoder stands for: a map, like that of a
// Deployment, or a text, like that of kubectl.
func SelectorOf(v any) (labels.Selector, error) {
	return selectorOf(types.DefaultTypeAdapter.NativeToValue(v), func(traits.Mapper) (labels.Selector, error) {
		return nil, noSelector
	})
}

// selectorOf returns a label selector. plain reads a map that has other keys than a label selector.
func selectorOf(v ref.Val, plain func(traits.Mapper) (labels.Selector, error)) (labels.Selector, error) {
	switch v := v.(type) {
	case types.String:
		return parseSelector(string(v))
	case traits.Mapper:
		var s metav1.LabelSelector
		for it := v.Iterator(); it.HasNext() == types.True; {
			var err error
			switch key := it.Next(); textOf(key) {
			case "matchLabels":
				s.MatchLabels, err = pairsOf(v.Get(key))
			case "matchExpressions":
				s.MatchExpressions, err = requirementsOf(v.Get(key))
			default:
				return plain(v)
			}
			if err != nil {
				return nil, err
			}
		}
		selector, err := metav1.LabelSelectorAsSelector(&s)
		if err != nil {
			return nil, badSelector
		}
		return selector, nil
	}
	return nil, noSelector
}

func parseSelector(text string) (labels.Selector, error) {
	selector, err := syntax.ParseSelector(text)
	if err != nil {
		return nil, badText
	}
	return selector, nil
}

// pairsOf reads labels with their values. Null instead of a value would count as an empty text.
func pairsOf(v ref.Val) (map[string]string, error) {
	if v == types.NullValue {
		return nil, nil
	}
	m, ok := v.(traits.Mapper)
	if !ok {
		return nil, noSelector
	}
	pairs := map[string]string{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value, isText := m.Get(key).(types.String)
		switch {
		case m.Get(key) == types.NullValue:
			return nil, failure(fmt.Sprintf("matchLabels[%q] must be text, got null", textOf(key)))
		case !isText:
			return nil, noSelector
		}
		pairs[textOf(key)] = string(value)
	}
	return pairs, nil
}

func requirementsOf(v ref.Val) (all []metav1.LabelSelectorRequirement, err error) {
	if v == types.NullValue {
		return nil, nil
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return nil, noSelector
	}
	for it := list.Iterator(); it.HasNext() == types.True; {
		m, ok := it.Next().(traits.Mapper)
		if !ok {
			return nil, noSelector
		}
		var r metav1.LabelSelectorRequirement
		for fields := m.Iterator(); fields.HasNext() == types.True; {
			key := fields.Next()
			value := m.Get(key)
			text, isText := value.(types.String)
			values, isList := value.(traits.Lister)
			switch name := textOf(key); {
			case name == "key" && isText:
				r.Key = string(text)
			case name == "operator" && isText:
				r.Operator = metav1.LabelSelectorOperator(text)
			case name == "values" && isList:
				for each := values.Iterator(); each.HasNext() == types.True; {
					text, isText := each.Next().(types.String)
					if !isText {
						return nil, noSelector
					}
					r.Values = append(r.Values, string(text))
				}
			case name == "values" && value == types.NullValue:
			default:
				return nil, noSelector
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// selects expands selects(selector, x): whether x exists and has labels that the selector accepts. Only the labels of x
// are read.
func selects(eh parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	if args[1].Kind() == ast.LiteralKind || args[1].Kind() == ast.ListKind {
		return nil, eh.NewError(args[1].ID(), "selects() takes a label selector and an object")
	}
	if v, ok := literalValue(args[0]); ok {
		if _, err := selectorOf(v, plainSelector); err != nil {
			return nil, eh.NewError(args[0].ID(), "selects(): the selector "+err.Error())
		}
	}
	exists := eh.NewMemberCall("hasValue", optionalField(eh, eh.Copy(args[1]), "metadata"))
	found := optionalField(eh, optionalField(eh, args[1], "metadata"), "labels")
	return eh.NewCall(operators.LogicalAnd, exists, eh.NewCall(selectsFunction, args[0], found)), nil
}

// literalValue returns the value of an expression that is written out.
func literalValue(e ast.Expr) (ref.Val, bool) {
	switch e.Kind() {
	case ast.LiteralKind:
		return e.AsLiteral(), true
	case ast.ListKind:
		if len(e.AsList().OptionalIndices()) > 0 {
			return nil, false
		}
		items := []ref.Val{}
		for _, item := range e.AsList().Elements() {
			v, ok := literalValue(item)
			if !ok {
				return nil, false
			}
			items = append(items, v)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, items), true
	case ast.MapKind:
		entries := map[ref.Val]ref.Val{}
		for _, item := range e.AsMap().Entries() {
			entry := item.AsMapEntry()
			key, isLiteral := literalValue(entry.Key())
			value, ok := literalValue(entry.Value())
			if !isLiteral || !ok || entry.IsOptional() {
				return nil, false
			}
			entries[types.String(textOf(key))] = value // Other keys than texts are no labels.
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, entries), true
	}
	return nil, false
}

func selectorFunctions() []cel.EnvOption {
	return []cel.EnvOption{cel.Function(selectsFunction, cel.Overload("@selects_2",
		[]*cel.Type{cel.DynType, cel.OptionalType(cel.DynType)}, cel.BoolType, cel.BinaryBinding(isSelected)))}
}

// plainSelector reads labels without matchLabels, as a Service has them.
func plainSelector(m traits.Mapper) (labels.Selector, error) {
	pairs, err := pairsOf(m)
	if err != nil {
		return nil, noSelector
	}
	selector, err := labels.ValidatedSelectorFromSet(pairs)
	if err != nil {
		return nil, badSelector
	}
	return selector, nil
}

// isSelected implements selects() for the labels of an object that exists. An object may have none.
func isSelected(selector, of ref.Val) ref.Val {
	s, err := selectorOf(selector, plainSelector)
	if err != nil {
		return failf("selects(): the selector %s", err)
	}
	have := labels.Set{}
	if v, present := Unwrap(of); present && v != types.NullValue {
		pairs, err := pairsOf(v)
		if err != nil {
			return failf("selects(): the labels of the object must be texts")
		}
		have = pairs
	}
	return types.Bool(s.Matches(have))
}

// The work of reading a selector, and of each value in it.
const (
	eachSelector = 20
	perSelector  = 10
)

func selectsWork(a operands) int {
	return eachSelector + perSelector*printWork(a[0], MaxWork) + countValues(a[1], MaxWork)
}
