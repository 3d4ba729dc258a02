package syntax

import (
	"cmp"
	"math"
	"slices"
	"time"

	"reconcel/rules/source"
)

var (
	childShape = source.Shape{
		Doc: "An object that the primary owns, or with `forEach` or `replicas` any number of objects.",
		Keys: []source.Key{
			{Name: "id", Required: true, Value: identifierName,
				Doc: "Names the child in expressions: the object as it is in the cluster, " +
					"or with `forEach` and `replicas` the list of all objects, which is unknown until all of them exist."},
			{Name: "when", Value: boolExpr, Default: "true", Doc: "Whether the child exists. If false, reconcel deletes it."},
			{Name: "after", Value: idList, Doc: "Ids of children that must be ready first."},
			{Name: "forEach", Value: iteratorsData,
				Doc: "Creates one object for each element of a list, or for each combination of several lists. A map of names to " +
					"expressions, like `worker: self.spec.workers`, " +
					"or a list with more keys."},
			{Name: "replicas", Value: upTo(MostObjects, intExpr(0)),
				Doc: "The number of interchangeable objects, from 0 to 500, or to `maxObjects`. `metadata.generateName` is the " +
					"prefix of their names."},
			{Name: "maxObjects", Value: &source.Schema{Type: source.Types{"integer"}, Minimum: new(1),
				Maximum: new(MostObjects)},
				Doc: "The number of objects that the child may have, up to 5000. By default, all children of a resource together " +
					"may have 500."},
			{Name: "order", Value: orders.Schema(), Default: "parallel",
				Doc: "Whether the objects of `forEach` are created, changed and deleted all at once or one after another."},
			{Name: "readyWhen", Value: boolExpr, Doc: "Whether the object is ready; `child` is the live object. The default " +
				"depends on the kind."},
			{Name: "failWhen", Value: boolExpr, Doc: "Whether the object has failed, so that the primary is `Stalled`; " +
				"`child` is the live object. " +
				"The default depends on the kind."},
			{Name: "ifExists", Value: takeovers.Schema(), Default: "fail",
				Doc: "What to do if an object of that name exists and does not belong to the primary."},
			{Name: "onChange", Value: changes.Schema(), Default: "apply",
				Doc: "What to do when the rendering changes. Required for a Pod."},
			{Name: "maxUnavailable", Value: intExpr(1), Default: "1",
				Doc: "The number of objects that are replaced at a time, with `onChange: replace` and `forEach` or `replicas`."},
			{Name: "onDelete", Value: partings.Schema(), Default: "delete",
				Doc: "Whether reconcel deletes the object when it is no longer rendered."},
			{Name: "ignoreFields", Value: &source.Schema{Type: source.Types{"array", "null"},
				Items: &source.Schema{AnyOf: []*source.Schema{fieldPath, ignoredShape.Schema()}}, Unique: true},
				Doc: "Fields of the template that are set on creation and then left to other writers, like `spec.replicas`; with " +
					"`when`, only while that is true."},
			{Name: "generate", Value: generated, Doc: "Keys of a Secret whose values reconcel makes once and then keeps, like " +
				"`password: {length: 24}`."},
			{Name: "template", Required: true, Value: templateShape.Schema(),
				Doc: "The object: a complete manifest in which `${...}` stands for values. " +
					"An entry whose value is absent is omitted."},
		},
		More: source.Schema{
			Dependencies: map[string]*source.Schema{
				"replicas":   withKey("forEach", nil),
				"order":      requiresKeys("forEach"),
				"maxObjects": {AnyOf: []*source.Schema{requiresKeys("forEach"), requiresKeys("replicas")}},
				"maxUnavailable": {
					Required:   []string{"onChange"},
					Properties: source.Properties{{Name: "onChange", Value: &source.Schema{Const: replace}}},
					AnyOf:      []*source.Schema{requiresKeys("forEach"), requiresKeys("replicas")},
				},
			},
			AllOf: []*source.Schema{
				{If: requiresKeys("replicas"), Then: withName("generateName", "name"), Else: withName("name", "generateName")},
				{If: requiresKeys("replicas"), Then: withKey("onChange", &source.Schema{Not: &source.Schema{Const: once}})},
				{If: requiresKeys("maxObjects"), Else: withKey("replicas", upTo(usualObjects, &source.Schema{}))},
				{If: aPod, Then: &source.Schema{AnyOf: []*source.Schema{requiresKeys("onChange"), extends}}},
				{If: inSequence, Then: withKey("maxUnavailable", nil)},
				{If: shared, Then: &source.Schema{AllOf: []*source.Schema{
					withKey("replicas", nil), withKey("generate", nil),
					withKey("order", &source.Schema{Not: &source.Schema{Const: sequential}}),
					withKey("onChange", &source.Schema{Const: "apply"}),
				}}},
				{If: kept, Then: withKey("ignoreFields", &source.Schema{MaxItems: new(0)})},
			},
		},
		Wrong: map[string]source.WrongKey{
			"timeout": {Hint: "only entries of finalize have it"},
			"in":      inForEach,
			"if":      {Means: "when"},

			"includeWhen": {Hint: "write when: an expression without ${...}, with several conditions joined by &&",
				Means: "when"},
			"condition":       {Means: "when"},
			"enabled":         {Means: "when"},
			"dependsOn":       {Means: "after"},
			"depends_on":      {Means: "after"},
			"externalRef":     {Hint: "the rule reads it and does not own it: write it into lookups", Means: "template"},
			"count":           {Hint: "write replicas: for a number of objects, forEach: for a list", Means: "replicas"},
			"for_each":        inForEach,
			"base":            {Means: "template"},
			"manifest":        {Means: "template"},
			"resource":        {Means: "template"},
			"lifecycle":       {Hint: "write onChange, onDelete or ignoreFields"},
			"patches":         {Hint: "write the values into template, as ${...}"},
			"namespace":       {Hint: "write it into template.metadata"},
			"labels":          {Hint: "write it into template.metadata"},
			"readinessChecks": {Hint: "write readyWhen: an expression about child", Means: "readyWhen"},

			"apiVersion": inTemplate,
			"kind":       inTemplate,
			"metadata":   inTemplate,
			"spec":       inTemplate,
			"index":      inForEach,
			"name": {Hint: "write id; the object's name is template.metadata.name, the name of an iterator belongs into " +
				"forEach", Means: "id"},
		},
	}
	finalizeShape = source.Shape{
		Doc: "An object that is created once when the primary is deleted, and that the deletion waits for.",
		Keys: []source.Key{
			{Name: "id", Required: true, Value: identifierName,
				Doc: "Names the entry in expressions: the object as it is in the cluster."},
			{Name: "when", Value: boolExpr, Default: "true", Doc: "Whether the object is created."},
			{Name: "after", Value: idList, Doc: "Ids of other entries of `finalize` that must be ready first."},
			{Name: "readyWhen", Value: boolExpr, Doc: "Whether the object is finished; `child` is the live object. The " +
				"default depends on the kind."},
			{Name: "failWhen", Value: boolExpr, Doc: "Whether the object has failed; `child` is the live object. The default " +
				"depends on the kind."},
			{Name: "timeout", Required: true, Value: source.DurationText,
				Doc: "How long to wait for it after the deletion of the primary, like `10m`."},
			{Name: "template", Required: true, Value: templateShape.Schema(),
				Doc: "The object: a complete manifest in which `${...}` stands for values."},
		},
		More: source.Schema{AllOf: []*source.Schema{withName("name", "generateName")}},
		Wrong: map[string]source.WrongKey{
			"forEach":        onlyChildren,
			"replicas":       onlyChildren,
			"ifExists":       onlyChildren,
			"onChange":       onlyChildren,
			"maxUnavailable": onlyChildren,
			"order":          onlyChildren,
			"maxObjects":     onlyChildren,
			"onDelete":       onlyChildren,
			"ignoreFields":   onlyChildren,
			"generate":       onlyChildren,
		},
	}
	inTemplate   = source.WrongKey{Hint: "put the object under template", Means: "template"}
	inForEach    = source.WrongKey{Hint: "write forEach: {item: self.spec.items}", Means: "forEach"}
	onlyChildren = source.WrongKey{Hint: "only children have it: an object of finalize is created once and not changed"}
)

// The options for an existing object that reconcel did not create, for a changed
// rendering, and for an object that is no longer rendered.
var (
	takeovers = source.Choices{
		{Text: "fail", Doc: "Leave it unchanged and report the conflict."},
		{Text: "adopt", Doc: "Adopt it if it has no controller."},
		{Text: share, Doc: "Share it with other primaries of the rule. It is deleted with the last of them."},
		{Text: extend, Doc: "Like share, and an object of others gets the fields of the template. It loses them with the " +
			"last primary, and stays."},
	}
	changes = source.Choices{
		{Text: "apply", Doc: "Apply the change to the object."},
		{Text: replace, Doc: "Delete the object and create it again."},
		{Text: keep, Doc: "Leave the object unchanged after its creation."},
		{Text: once, Doc: "Like replace. An object that was ready is not created again when it is gone, unless its " +
			"rendering changes."},
	}
	partings = source.Choices{
		{Text: "delete", Doc: "It is deleted when no rule renders it any more, or when the primary is deleted."},
		{Text: "orphan", Doc: "reconcel never deletes it."},
	}
)

// The ways to go through the objects of forEach.
var orders = source.Choices{
	{Text: "parallel", Doc: "All objects at once."},
	{Text: sequential, Doc: "One after another: an object is created or changed when those before it are ready. They " +
		"are deleted in reverse."},
}

const (
	share, extend = "share", "extend"
	replace, keep = "replace", "keep"
	once          = "once"
	sequential    = "sequential"
)

// Schemas of children that need a key, or must not have one.
var (
	aPod = &source.Schema{Required: []string{"template"},
		Properties: source.Properties{{Name: "template", Value: &source.Schema{
			Required: []string{"apiVersion", "kind"},
			Properties: source.Properties{{Name: "apiVersion", Value: &source.Schema{Const: "v1"}},
				{Name: "kind", Value: &source.Schema{Const: "Pod"}}},
		}}}}
	inSequence = &source.Schema{Required: []string{"order"},
		Properties: source.Properties{{Name: "order", Value: &source.Schema{Const: sequential}}}}
	shared = &source.Schema{Required: []string{"ifExists"},
		Properties: source.Properties{{Name: "ifExists", Value: &source.Schema{Enum: []string{share, extend}}}}}
	extends = &source.Schema{Required: []string{"ifExists"},
		Properties: source.Properties{{Name: "ifExists", Value: &source.Schema{Const: extend}}}}
	kept = &source.Schema{Required: []string{"onChange"},
		Properties: source.Properties{{Name: "onChange", Value: &source.Schema{Const: keep}}}}
)

// A section is the list of children, or the list of finalize.
type section struct {
	shape   *source.Shape
	items   []source.Value
	entries []*Child // same indexes as items; nil if an item could not be read
}

// readSection reads the entries without after, for which all ids must be known.
func readSection(v source.Value, sh *source.Shape, names *names) *section {
	names.loseUnlessList(v)
	sec := &section{shape: sh}
	for _, item := range v.Items() {
		item = item.Named(item.Peek("id").Scalar())
		sec.items = append(sec.items, item)
		sec.entries = append(sec.entries, readChild(item, sh, names))
	}
	return sec
}

// readEntries returns the entries that could be read.
func (sec *section) readEntries() []*Child {
	return slices.DeleteFunc(slices.Clone(sec.entries), func(c *Child) bool { return c == nil })
}

// readChild reads an entry of children or finalize. The shape decides which keys
// exist; other keys are missing in the table.
func readChild(v source.Value, sh *source.Shape, names *names) *Child {
	t := v.Table(sh)
	if !t.IsMap() {
		names.nameless = true
		return nil
	}
	for _, value := range t.Unread() {
		names.loseIterators(value)
	}
	c := &Child{Pos: v.Pos(), Entry: v.Entry()}
	c.ID, c.Unusable = names.readID(t.Key("id"))
	c.When = t.Key("when").Expr()
	c.ForEach = readForEach(t.Key("forEach"), names)
	c.MaxObjects = readMaxObjects(t.Key("maxObjects"))
	c.Replicas = readReplicas(t.Key("replicas"), cmp.Or(c.MaxObjects, usualObjects))
	c.ReadyWhen = t.Key("readyWhen").Expr()
	c.FailWhen = t.Key("failWhen").Expr()
	c.IfExists = t.Key("ifExists").OneOf(takeovers)
	c.OnChange = t.Key("onChange").OneOf(changes)
	c.OnDelete = t.Key("onDelete").OneOf(partings)
	c.Order = t.Key("order").OneOf(orders)
	c.MaxUnavailable = readWholeNumber(t.Key("maxUnavailable"), 1, math.MaxInt64, "at least 1")
	c.Timeout = t.Key("timeout").Duration(time.Nanosecond)
	checkCollection(v, c, t)
	template := t.Key("template")
	if !template.Missing() {
		c.Template = readTemplate(template, namingOf(t))
	}
	_, c.changes = t.Written("onChange")
	c.IgnoreFields = readIgnoreFields(t.Key("ignoreFields"), template, c.Template)
	if p, _ := t.Written("ignoreFields"); c.OnChange.Value == keep && len(c.IgnoreFields) > 0 {
		v.ErrorAt(p, "ignoreFields has no effect together with onChange: keep, which ignores every field").Hint = "remove it"
	}
	if p, _ := t.Written("onChange"); c.OnChange.Value == once && c.Replicas != nil {
		v.ErrorAt(p, "onChange: once cannot be used together with replicas: their names are random, so that a new object "+
			"is never one that was there before").Hint =
			"write forEach instead of replicas"
	}
	c.Generate = readGenerated(t.Key("generate"))
	checkGenerated(v, t, c)
	checkShared(v, t, c)
	for _, p := range c.IgnoreFields {
		if (c.OnChange.Value == replace || c.OnChange.Value == once) && p.When != nil {
			v.ErrorAt(p.Pos, "%s: a condition cannot be used together with onChange: %s: each time it changes, the object "+
				"would be deleted and created again",
				p.Entry, c.OnChange.Value).Hint = "ignore the field without a condition, or write onChange: apply"
		}
	}
	return c
}

// applies reports whether a changed rendering is applied to the object.
func (c *Child) applies() bool { return c.OnChange.Value == "" || c.OnChange.Value == "apply" }

// Extends reports whether the object may be one of others, which gets the fields of the template.
func (c *Child) Extends() bool { return c.IfExists.Value == extend }

// Shares reports whether several primaries may have the same object.
func (c *Child) Shares() bool { return c.IfExists.Value == share || c.Extends() }

// namingOf returns how the objects of an entry get their names.
func namingOf(t source.Table) naming {
	_, replicas := t.Written("replicas")
	_, forEach := t.Written("forEach")
	switch {
	case !replicas:
		return named
	case !forEach:
		return numbered
	}
	return undecided
}

// checkShared rejects what cannot be shared. Each primary would have its own opinion of
// when the object is replaced, of its place in a list, or of its password.
func checkShared(v source.Value, t source.Table, c *Child) {
	if !c.Shares() {
		return
	}
	for _, w := range []struct {
		key, value string
		wrong      bool
		why        string
	}{
		{"replicas", "", c.Replicas != nil, "each primary has as many objects of its own as it asks for"},
		{"generate", "", c.Generate != nil, "each primary would make its own values"},
		{"order", ": " + sequential, c.Order.Value == sequential,
			"the lists of several primaries may have the object at different places"},
		{"onChange", ": " + c.OnChange.Value, !c.applies(), "primaries could not tell whether they agree about the object"},
	} {
		if pos, written := t.Written(w.key); written && w.wrong {
			v.ErrorAt(pos, "%s%s cannot be used together with ifExists: %s: %s", w.key, w.value, c.IfExists.Value,
				w.why).Hint = "remove one of them"
		}
	}
}
