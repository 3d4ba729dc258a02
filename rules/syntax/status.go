package syntax

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

// readStatus reads the fields of status that the rule writes.
func readStatus(v source.Value) *source.Node {
	if v.IsNull() || v.Broken() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		return nil
	}
	d := v.Data()
	d.Fields = slices.DeleteFunc(d.Fields, func(f source.Field) bool {
		if f.Key.Value != "conditions" {
			return false
		}
		v.ErrorAt(f.Key.Pos, "conditions cannot be set here").Hint = "use conditions: of the rule"
		return true
	})
	return d
}

var conditionShape = source.Shape{
	Doc: "A condition of the primary.",
	Keys: []source.Key{
		{Name: "type", Required: true, Value: conditionName, Doc: "Its type, like `Available`. `Ready`, `Reconciling` and `Stalled` are reserved for reconcel."},
		{Name: "when", Required: true, Value: boolExpr, Doc: "Whether it is `True` or `False`. It is `Unknown` while the value is not known."},
		{Name: "reason", Value: reasonData, Doc: "The reason, one CamelCase word such as `Enough`. By default the type, or `Not` and the type."},
		{Name: "message", Value: textData, Doc: "The message, with `${...}` for values. Empty by default."},
	},
}

// ownConditions are the types of conditions that reconcel sets itself.
var ownConditions = []string{"Ready", "Reconciling", "Stalled", "Kept"}

func readConditions(v source.Value) []*Condition {
	var conditions []*Condition
	types := make(map[string]source.Pos)
	for _, item := range v.Items() {
		item = item.Named(item.Peek("type").Scalar())
		t := item.Table(&conditionShape)
		if !t.IsMap() {
			continue
		}
		conditions = append(conditions, &Condition{
			Pos:     item.Pos(),
			Entry:   item.Entry(),
			Type:    readConditionType(item, t.Key("type"), types),
			When:    t.Key("when").Expr(),
			Reason:  readReason(t.Key("reason")),
			Message: t.Key("message").Sentence(),
		})
	}
	return conditions
}

func readConditionType(condition, v source.Value, types map[string]source.Pos) source.String {
	s, ok := v.Literal()
	if !ok {
		return s
	}
	switch at, taken := types[s.Value]; {
	case slices.Contains(ownConditions, s.Value):
		condition.ErrorAt(s.Pos, "type %s is reserved for reconcel", s.Value).Hint = "choose another name"
	case len(validation.IsQualifiedName(s.Value)) > 0:
		condition.ErrorAt(s.Pos, "type must be letters, digits, -, _ and ., with a letter or digit at both ends")
	case taken:
		condition.ErrorAt(s.Pos, "type is already used, at %s", at)
	default:
		types[s.Value] = s.Pos
		return s
	}
	return source.String{}
}

// readReason reads the reason of a condition. The API server validates its form.
func readReason(v source.Value) *source.Node {
	d := v.Sentence()
	if d == nil || d.Kind != source.Text {
		return d
	}
	if word := d.Value.(string); !IsReason(word) {
		e := v.Errorf("%q must be one word of letters, digits and _", word)
		if strings.Contains(word, " ") {
			e.Hint = "write CamelCase here and put the sentence into message"
		}
		return nil
	}
	return d
}

// IsReason reports whether the API server accepts a word as the reason of a
// condition, except for its length.
func IsReason(word string) bool {
	if word == "" || !source.IsLetter(rune(word[0])) || strings.HasSuffix(word, ",") || strings.HasSuffix(word, ":") {
		return false
	}
	for _, r := range word {
		if !source.IsIdent(r) && r != ',' && r != ':' {
			return false
		}
	}
	return true
}
