package syntax

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var ruleShape = source.Shape{
	Doc: "What reconcel does for the objects of one kind.",
	Keys: []source.Key{
		{Name: "name", Required: true, Value: ruleName,
			Doc: "A DNS label, unique among all rules. It stands in a label of every child: a rule under a new name is a new rule."},
		{Name: "for", Required: true, Value: forShape.Schema(),
			Doc: "Which objects the rule is for. Each of them is a primary, `self` in expressions."},
		{Name: "let", Value: letData, Doc: "Named values for the expressions of the rule: a string is an expression, a map or list " +
			"is data with `${...}`. In any order, but not in a circle."},
		{Name: "lookups", Value: listOf(lookupShape.Schema()), Doc: "Other objects that the rule reads and does not own. They are watched."},
		{Name: "validate", Value: listOf(checkShape.Schema()),
			Doc: "What must hold for an object. If it does not, the object is `Stalled` and what exists stays as it is."},
		{Name: "children", Value: listOf(childShape.Schema()), Doc: "The objects that a primary owns, applied in the order in which they need each other."},
		{Name: "patch", Value: patchShape.Schema(), Doc: "Data that is written into the primary itself: labels, annotations, and fields " +
			"outside `metadata` and `status`. Written as a whole, once all of it is known."},
		{Name: "status", Value: statusData,
			Doc: "Fields of the primary's status, as data. Each is written once it is known. For conditions there is `conditions`."},
		{Name: "conditions", Value: listOf(conditionShape.Schema()), Doc: "Conditions of the primary besides `Ready`, `Reconciling` and `Stalled`."},
		{Name: "finalize", Value: listOf(finalizeShape.Schema()),
			Doc: "What is made and waited for when the primary is deleted, before its children go: a backup, say."},
		{Name: "teardown", Value: teardowns.Schema(), Default: "background", Doc: "How the children go when the primary is deleted."},
		{Name: "requeueAfter", Value: source.DurationText, Doc: "When to look at every primary again though nothing has changed, " +
			"at least `1s`. Never by default: everything that a rule reads is watched."},
		{Name: "onRuleRemoval", Value: removals.Schema(), Default: "keep", Doc: "What becomes of all that the rule has made when it is taken out of the rules."},
		{Name: "allow", Value: allowShape.Schema(), Doc: "What the rule may do beyond the namespace of its primary. Nothing by default."},
		{Name: "serviceAccountName", Value: accountName, Doc: "As which ServiceAccount the rule writes: `namespace/name`, or `name` for that " +
			"of the primary's own namespace. Literal. By default reconcel writes as itself."},
	},
	Wrong: map[string]source.WrongKey{
		"when":      {Hint: "write it into for"},
		"selector":  {Hint: "write it into for"},
		"resources": {Hint: "write children", Means: "children"},
		"variables": {Hint: "write let", Means: "let"},
	},
}

// teardowns are the orders in which children are deleted.
var teardowns = source.Choices{
	{Text: "background", Doc: "All at once, by the garbage collector where there is no `finalize`."},
	{Text: "ordered", Doc: "In reverse order of what they need, each when those that need it are gone."},
}

// removals are what happens to the children of a removed rule.
var removals = source.Choices{
	{Text: "keep", Doc: "It stays as it is. Nobody looks after it any more."},
	{Text: "delete", Doc: "It is deleted, apart from children with `onDelete: orphan`, and the `patch` is taken back. " +
		"So it is when the rule was taken out while no process was running."},
}

// readRule reads one entry of rules.
func (p *parser) readRule(v source.Value) {
	if !v.IsMap() {
		v.WrongShape("a rule")
		return
	}
	// The name first: all other errors carry it.
	if name := v.Peek("name"); name.IsText() && name.Scalar() != "" {
		v = v.Rule(name.Scalar())
	}
	r := &Rule{Pos: v.Pos()}
	t := v.Table(&ruleShape)
	r.Name = p.readName(v, t.Key("name"))
	if selection := t.Key("for"); !selection.Missing() {
		r.For = readFor(selection)
	}
	names := &names{taken: make(map[string]source.Pos)}
	for _, value := range t.Unread() {
		names.lose(value)
	}
	r.Let = readLet(t.Key("let"), names)
	r.Lookups = readLookups(t.Key("lookups"), names)
	r.Validate = readValidate(t.Key("validate"))
	children := readSection(t.Key("children"), &childShape, names)
	finalize := readSection(t.Key("finalize"), &finalizeShape, names)
	names.settle()
	children.readAfter(finalize)
	finalize.readAfter(children)
	r.Children, r.Finalize = children.children(), finalize.children()
	r.Patch = readPatch(t.Key("patch"))
	r.Status = readStatus(t.Key("status"))
	r.Conditions = readConditions(t.Key("conditions"))
	r.Teardown = t.Key("teardown").OneOf(teardowns)
	r.RequeueAfter = t.Key("requeueAfter").Duration(time.Second)
	r.OnRuleRemoval = t.Key("onRuleRemoval").OneOf(removals)
	r.Allow = readAllow(t.Key("allow"))
	r.Account = readAccount(t.Key("serviceAccountName"))
	r.Lost, r.Nameless = names.lost, names.nameless
	p.file.Rules = append(p.file.Rules, r)
}

// readName reads the name of a rule, which is also the value of a label.
func (p *parser) readName(rule, v source.Value) source.String {
	name, ok := v.Literal()
	if !ok {
		return name
	}
	if len(validation.IsDNS1123Label(name.Value)) > 0 {
		rule.ErrorAt(name.Pos, "name must be at most %d lower-case letters, digits and -, with a letter or digit at both ends", maxName)
		return name
	}
	if at, taken := p.names[name.Value]; taken {
		rule.ErrorAt(name.Pos, "name is already used by the rule at %s", at)
		return name
	}
	p.names[name.Value] = name.Pos
	return name
}
