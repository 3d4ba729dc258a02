package syntax

import (
	"fmt"
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
		{Name: "forEach", Value: iteratorsData,
			Doc: "Sets one condition for each element of a list, or for each combination of several lists. " +
				"A map of names to expressions, like `zone: self.spec.zones`, or a list with more keys."},
		{Name: "type", Required: true, Value: filledData,
			Doc: "Its type, like `Available`; with `forEach` also like `Zone-${zone}`. " +
				"`Ready`, `Reconciling`, `Stalled` and `Kept` are reserved for reconcel."},
		{Name: "when", Required: true, Value: boolExpr,
			Doc: "Whether it is `True` or `False`. It is `Unknown` while the value is not known."},
		{Name: "reason", Value: reasonData, Doc: "The reason, one CamelCase word such as `Enough`. By default the type, or " +
			"`Not` and the type."},
		{Name: "message", Value: textData, Doc: "The message, with `${...}` for values. Empty by default."},
		{Name: "event", Value: eventData, Doc: "`Normal` or `Warning`: when the condition becomes `True` or `False`, or " +
			"its reason or message changes, an Event of this type has the reason and message. `\"\"` sends none."},
	},
	More: source.Schema{AllOf: []*source.Schema{
		{If: requiresKeys("forEach"), Then: withKey("type", renderedType), Else: withKey("type", conditionName)},
	}},
	Wrong: map[string]source.WrongKey{
		"in":       conditionForEach,
		"for_each": conditionForEach,
		"index":    conditionForEach,
	},
}

var conditionForEach = source.WrongKey{Hint: "write forEach: {item: self.spec.items}", Means: "forEach"}

// ownConditions are the types of conditions that reconcel sets itself.
var ownConditions = []string{"Ready", "Reconciling", "Stalled", "Kept", "Held"}

func readConditions(v source.Value, names *names) []*Condition {
	var conditions []*Condition
	types := make(map[string]source.Pos)
	for _, item := range v.Items() {
		item = item.Named(item.Peek("type").Scalar())
		t := item.Table(&conditionShape)
		if !t.IsMap() {
			names.nameless = true
			continue
		}
		for _, value := range t.Unread() {
			names.loseIterators(value)
		}
		c := &Condition{Pos: item.Pos(), Entry: item.Entry(), ForEach: readForEach(t.Key("forEach"), names)}
		if len(c.ForEach) > 0 {
			c.Type = readRenderedType(item, t.Key("type"))
		} else {
			c.Type = readConditionType(item, t.Key("type"), types)
		}
		c.When = t.Key("when").Expr()
		c.Reason = readReason(t.Key("reason"))
		c.Message = t.Key("message").Sentence()
		c.Event = readEvent(t.Key("event"))
		conditions = append(conditions, c)
	}
	return conditions
}

// readConditionType reads the type of a condition without forEach.
func readConditionType(condition, v source.Value, types map[string]source.Pos) *source.Node {
	if v.Computed() {
		v.Errorf("must be a literal: ${...} is allowed only together with forEach").Hint =
			"write forEach: {item: self.spec.items} for a condition for each element of a list"
		return nil
	}
	s, ok := v.Literal()
	if !ok {
		return nil
	}
	if why := InvalidConditionType(s.Value); why != "" {
		e := condition.ErrorAt(s.Pos, "type %s", why)
		if slices.Contains(ownConditions, s.Value) {
			e.Hint = "choose another name"
		}
		return nil
	}
	if at, taken := types[s.Value]; taken {
		condition.ErrorAt(s.Pos, "type is already used, at %s", at)
		return nil
	}
	types[s.Value] = s.Pos
	return v.Sentence()
}

// readRenderedType reads the type of a condition with forEach, and checks the text around
// expressions.
func readRenderedType(condition, v source.Value) *source.Node {
	d := v.Sentence()
	if d == nil || d.Kind != source.Interp {
		return d // That a literal type is the same for all elements is an error of forEach.
	}
	for i, p := range d.Parts {
		around := "x" + p.Text + "x"
		if i == 0 {
			around = p.Text + "x"
		}
		if i == len(d.Parts)-1 {
			around = "x" + p.Text
		}
		if p.Expr == nil && len(validation.IsQualifiedName(strings.ReplaceAll(around, "/", "."))) > 0 {
			condition.ErrorAt(d.Pos, "type: %q cannot be part of it: it %s", p.Text, typeCharacters)
			return nil
		}
	}
	return d
}

// MaxConditionType is the maximum length of a condition's type, as in the API server.
const MaxConditionType = 316

const (
	maxConditionName = 63 // after the slash
	typeCharacters   = "must be letters, digits, -, _ and ., with a letter or digit at both ends"
)

// InvalidConditionType returns why a rule cannot set a condition of a type, or "".
func InvalidConditionType(name string) string {
	switch {
	case slices.Contains(ownConditions, name):
		return name + " is reserved for reconcel"
	case len(name) > MaxConditionType:
		return fmt.Sprintf("is longer than %d characters", MaxConditionType)
	case len(name)-strings.LastIndex(name, "/")-1 > maxConditionName:
		return fmt.Sprintf("is longer than %d characters", maxConditionName)
	case len(validation.IsQualifiedName(name)) > 0:
		return typeCharacters
	}
	return ""
}

// readReason reads the reason of a condition. The API server validates its form.
// readEvent reads the type of the Events of a condition.
func readEvent(v source.Value) *source.Node {
	d := v.Sentence()
	if d != nil && d.Kind == source.Text && !IsEventType(d.Value.(string)) {
		v.Errorf("%q must be Normal or Warning", d.Value)
		return nil
	}
	return d
}

// IsEventType reports whether a text is a type of Events, or empty, for none.
func IsEventType(s string) bool { return s == "" || s == "Normal" || s == "Warning" }

func readReason(v source.Value) *source.Node {
	d := v.Sentence()
	if d == nil || d.Kind != source.Text {
		return d
	}
	if !isReason(v, d.Value.(string)) {
		return nil
	}
	return d
}

// isReason reports whether a literal reason has the right form, and records an error if not.
func isReason(v source.Value, word string) bool {
	if IsReason(word) {
		return true
	}
	e := v.Errorf("%q must be one word of letters, digits and _", word)
	if strings.Contains(word, " ") {
		e.Hint = "write CamelCase here and put the sentence into message"
	}
	return false
}

// DefaultCheckReason is the reason of a check of validate that has none of its own.
const DefaultCheckReason = "InvalidSpec"

// OwnReasons are the reasons by which reconcel tells the states of a primary apart. A check cannot have them.
var OwnReasons = []string{"Reconciled", "Progressing", "Waiting", "Retrying", "RuleError", "ErrResourceExists",
	"SharedDifferently", "Forbidden", "Rejected", "Contested", "ChildFailed", "Finalizing", "Deleting",
	"NamespaceTerminating", "Paused", "TooManyDeletions"}

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

var (
	patchShape = source.Shape{
		Keys: []source.Key{{Name: "metadata", Value: patchMetadataShape.Schema(),
			Doc: "Labels and annotations of the primary."}},
		Refused: []string{"apiVersion", "kind", "status"},
		Others:  anything,
		More:    source.Schema{MinProperties: 1},
	}
	patchMetadataShape = source.Shape{
		Keys: []source.Key{
			{Name: "labels", Value: marksData, Doc: "Labels to set. Others stay unchanged."},
			{Name: "annotations", Value: marksData, Doc: "Annotations to set. Others stay unchanged."},
		},
		More: source.Schema{MinProperties: 1},
	}
)

// readPatch reads the content to merge into the primary itself. It omits fields
// that a patch must not have.
func readPatch(v source.Value) *source.Node {
	if v.Missing() || v.Broken() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		return nil
	}
	if v.Len() == 0 {
		v.Errorf("is empty").Hint = "write what to merge into the object, or remove the key"
		return nil
	}
	d := v.Data()
	d.Fields = slices.DeleteFunc(d.Fields, func(f source.Field) bool { return !isPatchable(v, f.Key) })
	return d
}

// isPatchable reports whether a field may be patched, and records an error if not.
func isPatchable(v source.Value, key source.String) bool {
	switch key.Value {
	case "apiVersion", "kind":
		v.ErrorAt(key.Pos, "%s cannot be patched: it identifies the object", key.Value).Hint = "remove it"
	case "status":
		v.ErrorAt(key.Pos, "status cannot be patched").Hint = "use status: of the rule"
	case "labels", "annotations":
		v.ErrorAt(key.Pos, "%s is a field of metadata", key.Value).Hint = "write metadata: {" + key.Value + ": ...}"
	case "metadata":
		before := v.Reader.Count()
		checkPatchMetadata(v.Peek("metadata"))
		return v.Reader.Count() == before
	default:
		if nested := source.Nested(key.Value); nested != "" { // No object has such a field.
			v.ErrorAt(key.Pos, "%q is one key, not a path", key.Value).Hint = "write " + nested
			return false
		}
		return true
	}
	return false
}

func checkPatchMetadata(v source.Value) {
	checkLabelsAndAnnotations(v, "%s cannot be patched: of metadata, only labels and annotations can")
}

// checkLabelsAndAnnotations checks a map that has nothing but labels and annotations. refused is the message about
// another key.
func checkLabelsAndAnnotations(v source.Value, refused string) {
	const expected = "a map with labels or annotations"
	switch {
	case !v.IsMap():
		mustBeWritten(v, expected)
		return
	case v.Len() == 0:
		v.Errorf("expected %s, got an empty one", expected)
	}
	for _, e := range v.PeekEntries() {
		if patchMetadataShape.Find(e.Key.Value) != nil {
			checkMarks(e.Value)
			continue
		}
		err := v.ErrorAt(e.Key.Pos, refused, e.Key.Value)
		if first, _, _ := strings.Cut(e.Key.Value, "."); patchMetadataShape.Find(first) != nil {
			err.Hint = "write " + source.Nested(e.Key.Value)
		} else {
			err.Hint = source.Suggest(e.Key.Value, patchMetadataShape.Names())
		}
	}
}
