package syntax

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var ruleShape = source.Shape{
	Doc: "What reconcel does for the objects of one kind.",
	Keys: []source.Key{
		{Name: "name", Required: true, Value: ruleName,
			Doc: "A DNS label, unique among all rules. Every child has it as a label, so a renamed rule is a new rule."},
		{Name: "for", Required: true, Value: forData,
			Doc: "The objects that the rule is for: of one kind, or a list for several kinds. Each of them is a primary, and " +
				"`self` in expressions. " +
				"`cluster` is a rule without primaries."},
		{Name: "schema", Value: schemaShape.Schema(),
			Doc: "What `reconcel crd` cannot tell about the fields of the kind: types, defaults, limits. " +
				"reconcel itself goes by the CRD."},
		{Name: "let", Value: letData, Doc: "Named values for the expressions of the rule: a string is an expression, a map " +
			"or list " +
			"is data with `${...}`. The entries of a map can read each other by their keys. The order does not matter; cycles " +
			"are not allowed."},
		{Name: "lookups", Value: listOf(lookupShape.Schema()),
			Doc: "Other objects that the rule reads and does not own. They are watched."},
		{Name: "validate", Value: listOf(checkShape.Schema()),
			Doc: "Checks of the primary. If one fails, the primary is `Stalled` and its children stay unchanged."},
		{Name: "commonMetadata", Value: commonMetadataShape.Schema(),
			Doc: "Labels and annotations of all children and of the entries of `finalize`. Those in a template take precedence."},
		{Name: "children", Value: listOf(childShape.Schema()),
			Doc: "The objects that a primary owns, applied in the order of their dependencies."},
		{Name: "patch", Value: patchShape.Schema(),
			Doc: "Data to write into the primary itself: labels, annotations, and fields " +
				"outside `metadata` and `status`. It is written as a whole, once all values are known."},
		{Name: "status", Value: statusData,
			Doc: "Fields of the primary's status. Each is written once its value is known. Use `conditions` for conditions."},
		{Name: "conditions", Value: listOf(conditionShape.Schema()),
			Doc: "Conditions of the primary besides `Ready`, `Reconciling` and `Stalled`."},
		{Name: "finalize", Value: listOf(finalizeShape.Schema()),
			Doc: "Objects to create and wait for when the primary is deleted, before its children are deleted: for example a " +
				"backup."},
		{Name: "teardown", Value: teardowns.Schema(), Default: "background",
			Doc: "How the children are deleted when the primary is deleted."},
		{Name: "requeueAfter", Value: source.DurationText,
			Doc: "How often to reconcile every primary although nothing has changed, " +
				"at least `1s`. Never by default: reconcel watches everything that a rule reads."},
		{Name: "onRuleRemoval", Value: removals.Schema(), Default: "keep",
			Doc: "What to do with the objects of the rule when the rule is removed."},
		{Name: "rollout", Value: rolloutShape.Schema(), Doc: "How a changed version of the rule reaches its primaries."},
		{Name: "report", Value: reports.Schema(), Default: "conditions",
			Doc: "Where reconcel reports whether the primary is ready."},
		{Name: "allow", Value: allowShape.Schema(),
			Doc: "What the rule may do outside the namespace of its primary. Nothing by default."},
		{Name: "serviceAccountName", Value: accountName,
			Doc: "The ServiceAccount that reconcel impersonates when it writes: `namespace/name`, or `name` for an account " +
				"in the namespace of the primary. Literal. By default reconcel writes as itself."},
	},
	Wrong: map[string]source.WrongKey{
		"when":      {Hint: "write it into for"},
		"selector":  {Hint: "write it into for"},
		"resources": {Means: "children"},
		"variables": {Means: "let"},

		"locals":         {Means: "let"},
		"define":         {Hint: "write it beside rules"},
		"data":           {Hint: "write lookups for objects that the rule reads, let for values"},
		"externalRefs":   {Means: "lookups"},
		"match":          {Means: "for"},
		"parentResource": {Means: "for"},
		"childResources": {Means: "children"},

		"labels":            inCommonMetadata,
		"annotations":       inCommonMetadata,
		"metadata":          inCommonMetadata,
		"commonLabels":      inCommonMetadata,
		"commonAnnotations": inCommonMetadata,
	},
}

var inCommonMetadata = source.WrongKey{Hint: "write commonMetadata: {labels: ..., annotations: ...} for those of all " +
	"children", Means: "commonMetadata"}

// teardowns are the orders in which children are deleted.
var teardowns = source.Choices{
	{Text: "background", Doc: "All at once, by the garbage collector if there is no `finalize`."},
	{Text: "ordered", Doc: "In reverse order of their dependencies. A child is deleted when those that depend on it are " +
		"gone."},
}

// ReportAnnotation is the value of report that asks for the annotation.
const ReportAnnotation = "annotation"

// reports are where the state of a primary is reported.
var reports = source.Choices{
	{Text: "conditions", Doc: "In `status.conditions`, if the schema of a custom resource has them."},
	{Text: ReportAnnotation, Doc: "In the annotation `reconcel.dev/status`: the status, reason and message of `Ready` " +
		"as JSON. " +
		"Only for kinds in which reconcel cannot write conditions, such as Kubernetes' own."},
}

// removals are what happens to the children of a removed rule.
var removals = source.Choices{
	{Text: "keep", Doc: "They stay unchanged, and reconcel no longer reconciles them."},
	{Text: "delete", Doc: "They are deleted, except children with `onDelete: orphan`, and the `patch` is reverted. " +
		"This also applies if the rule was removed while no process was running."},
}

// readRule reads one entry of rules.
func (p *parser) readRule(v source.Value) {
	if !v.IsMap() {
		v.WrongShape("a rule")
		return
	}
	// Read the name first, because all other errors include it.
	if name := v.Peek("name"); name.IsText() && name.Scalar() != "" {
		v = v.Rule(name.Scalar())
	}
	r := &Rule{Pos: v.Pos(), Digest: v.Digest("for", "rollout", "schema"), Definitions: p.defined,
		Origin: p.file.Documents[len(p.file.Documents)-1].Origin}
	t := v.Table(&ruleShape)
	r.Name = p.readName(v, t.Key("name"))
	kinds := []For{{}}
	if selection := t.Key("for"); !selection.Missing() {
		kinds = readSelections(selection)
	}
	forCluster := kinds[0].Cluster
	if forCluster {
		rejectPrimaryKeys(v)
	}
	names := &names{taken: p.defined.positions()}
	for _, value := range t.Unread() {
		names.loseNames(value)
	}
	r.Schema = readSchema(t.Key("schema"))
	r.Let = readLet(t.Key("let"), names)
	r.Lookups = readLookups(t.Key("lookups"), names)
	r.Validate = readValidate(t.Key("validate"))
	children := readSection(t.Key("children"), &childShape, names)
	finalize := readSection(t.Key("finalize"), &finalizeShape, names)
	r.Conditions = readConditions(t.Key("conditions"), names)
	names.settleIterators()
	children.readAfter(finalize)
	finalize.readAfter(children)
	r.Children, r.Finalize = children.readEntries(), finalize.readEntries()
	r.CommonMetadata = readCommonMetadata(t.Key("commonMetadata"))
	r.Patch = readPatch(t.Key("patch"))
	r.Status = readStatus(t.Key("status"))
	r.Teardown = t.Key("teardown").OneOf(teardowns)
	r.RequeueAfter = t.Key("requeueAfter").Duration(time.Second)
	r.OnRuleRemoval = t.Key("onRuleRemoval").OneOf(removals)
	r.Rollout = readRollout(t.Key("rollout"))
	r.Report = t.Key("report").OneOf(reports)
	r.Allow = readAllow(t.Key("allow"))
	if forCluster {
		r.Account = readClusterAccount(t.Key("serviceAccountName"))
	} else {
		r.Account = readAccount(t.Key("serviceAccountName"))
	}
	if forCluster {
		rejectSharing(v, r.Children)
	}
	r.Lost, r.Nameless = names.lost, names.nameless
	p.file.Rules = append(p.file.Rules, r.forEachOf(kinds, v)...)
}

// readName reads the name of a rule, which is also the value of a label.
func (p *parser) readName(rule, v source.Value) source.String {
	name, ok := v.Literal()
	if !ok {
		return name
	}
	if len(validation.IsDNS1123Label(name.Value)) > 0 {
		rule.ErrorAt(name.Pos, "name must be at most %d lower-case letters, digits and -, "+
			"with a letter or digit at both ends", maxName)
		return name
	}
	if at, taken := p.names[name.Value]; taken {
		rule.ErrorAt(name.Pos, "name is already used by the rule at %s", at)
		return name
	}
	p.names[name.Value] = name.Pos
	return name
}

var checkShape = source.Shape{
	Doc: "A check of the primary.",
	Keys: []source.Key{
		{Name: "expression", Required: true, Value: boolExpr, Doc: "What must be true, like `self.spec.size > 0`."},
		{Name: "reason", Value: checkReason, Default: DefaultCheckReason,
			Doc: "The reason of `Stalled` if it is false, one CamelCase word such as `QuotaExceeded`."},
		{Name: "message", Value: textData, Doc: "The message if it is false, with `${...}` for values. By default the " +
			"expression itself."},
	},
	Wrong: map[string]source.WrongKey{
		"expr": {Means: "expression"},
		"rule": {Means: "expression"},
		"cel":  {Means: "expression"},
		"msg":  {Means: "message"},
	},
}

func readValidate(v source.Value) []*Check {
	var checks []*Check
	for _, item := range v.Items() {
		item = item.Named("")
		t := item.Table(&checkShape)
		checks = append(checks, &Check{
			Pos:        item.Pos(),
			Entry:      item.Entry(),
			Expression: t.Key("expression").Expr(),
			Reason:     readCheckReason(t.Key("reason")),
			Message:    t.Key("message").Sentence(),
		})
	}
	return checks
}

// readCheckReason reads the reason of a check. It is literal, because metrics have it as a label.
func readCheckReason(v source.Value) source.String {
	if v.Missing() {
		return source.String{}
	}
	s, ok := v.Literal()
	switch {
	case !ok:
	case slices.Contains(OwnReasons, s.Value):
		v.Errorf("%s is reserved for reconcel", s.Value).Hint = "choose another word, such as " + DefaultCheckReason
	case !isReason(v, s.Value):
	default:
		return s
	}
	return source.String{}
}

// readAfter reads after in all entries: ids of other entries in the same section.
func (sec *section) readAfter(others *section) {
	ids, otherIDs := sec.entryIDs(), others.entryIDs()
	what, elsewhere := "child", "it is created when the resource is deleted, so no child can wait for it"
	if sec.shape == &finalizeShape {
		what, elsewhere = "entry of finalize", "it is a child: here, after lists ids of other entries of finalize"
	}
	for i, c := range sec.entries {
		if c == nil {
			continue
		}
		named := make(map[string]bool)
		for _, item := range sec.items[i].Peek("after").Items() {
			after, ok := item.Literal()
			switch {
			case !ok:
			case after.Value == c.ID.Value:
				item.Errorf("%q cannot come after itself", after.Value)
			case !ids[after.Value]:
				hint := item.Reader.Suggest(after.Value, maps.Keys(ids))
				if otherIDs[after.Value] {
					hint = elsewhere
				}
				item.Errorf("no %s has the id %q", what, after.Value).Hint = hint
			case named[after.Value]:
				item.Errorf("%q is listed twice", after.Value)
			default:
				named[after.Value] = true
				c.After = append(c.After, after)
			}
		}
	}
}

// entryIDs returns the ids in a section.
func (sec *section) entryIDs() map[string]bool {
	ids := make(map[string]bool)
	for _, item := range sec.items {
		if id := item.Peek("id").Scalar(); id != "" {
			ids[id] = true
		}
	}
	return ids
}
