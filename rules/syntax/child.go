package syntax

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

var (
	childShape = shape{
		doc: "An object that the primary owns; with `forEach` or `replicas` any number of them.",
		keys: []key{
			{name: "id", required: true, value: identifierName, doc: "Names the child in expressions: the object as it is in the cluster, " +
				"or with `forEach` and `replicas` the list of all of them, unknown until all exist."},
			{name: "when", value: boolExpr, fallback: "true", doc: "Whether the child is wanted. If not, it is deleted."},
			{name: "after", value: idList, doc: "Ids of children that must be ready first."},
			{name: "forEach", value: &schema{Type: types{"array"}, Items: mapOf(&iteratorShape), MinItems: 1},
				doc: "Makes one object for each element of a list, or for each combination of several lists."},
			{name: "replicas", value: upTo(maxReplicas, intExpr(0)),
				doc: "Makes so many objects, from 0 to 500, of which any is as good as another. `metadata.generateName` is how their names begin."},
			{name: "readyWhen", value: boolExpr, doc: "Whether the object is ready; `child` is the live object. By default what is usual for the kind."},
			{name: "failWhen", value: boolExpr, doc: "Whether the object has failed, so that the primary is `Stalled`; `child` is the live object. " +
				"By default what is usual for the kind."},
			{name: "ifExists", value: choiceOf(takeovers), fallback: "fail", doc: "What to do about an object of that name that is not the primary's."},
			{name: "onChange", value: choiceOf(changes), fallback: "apply", doc: "What to do when the object is to look different. For a Pod it has to be said."},
			{name: "maxUnavailable", value: intExpr(1), fallback: "1",
				doc: "How many objects are replaced at a time, with `onChange: replace` and `forEach` or `replicas`."},
			{name: "onDelete", value: choiceOf(partings), fallback: "delete", doc: "Whether reconcel deletes the object when it is no longer wanted."},
			{name: "ignoreFields", value: &schema{Type: types{"array", "null"}, Items: &schema{AnyOf: []*schema{fieldPath, mapOf(&ignoredShape)}}, Unique: true},
				doc: "Fields of the template that are set once and then left to others, like `spec.replicas`; with `when`, only while that is true."},
			{name: "template", required: true, value: mapOf(&templateShape), doc: "The object, as data: a whole manifest in which `${...}` stands for values. " +
				"An entry whose value is absent is left out."},
		},
		more: schema{
			Dependencies: map[string]*schema{
				"replicas": holds("forEach", nil),
				"maxUnavailable": {
					Required:   []string{"onChange"},
					Properties: properties{{"onChange", &schema{Const: replace}}},
					AnyOf:      []*schema{requires("forEach"), requires("replicas")},
				},
			},
			AllOf: []*schema{
				{If: requires("replicas"), Then: withName("generateName", "name"), Else: withName("name", "generateName")},
				{If: aPod, Then: requires("onChange")},
				{If: kept, Then: holds("ignoreFields", &schema{MaxItems: new(0)})},
			},
		},
		wrong: map[string]wrongKey{
			"timeout": {hint: "only entries of finalize have it"},
			"in":      inForEach,
			"if":      {hint: "write when", means: "when"},

			"apiVersion": inTemplate,
			"kind":       inTemplate,
			"metadata":   inTemplate,
			"spec":       inTemplate,
			"index":      inForEach,
			"name":       {hint: "write id; the object's name is template.metadata.name, that of an iterator stands in forEach", means: "id"},
		},
	}
	finalizeShape = shape{
		doc: "An object that is made once when the primary is deleted, and waited for.",
		keys: []key{
			{name: "id", required: true, value: identifierName, doc: "Names the entry in expressions: the object as it is in the cluster."},
			{name: "when", value: boolExpr, fallback: "true", doc: "Whether the object is wanted."},
			{name: "after", value: idList, doc: "Ids of other entries of `finalize` that must be ready first."},
			{name: "readyWhen", value: boolExpr, doc: "Whether the object is done; `child` is the live object. By default what is usual for the kind."},
			{name: "failWhen", value: boolExpr, doc: "Whether the object has failed; `child` is the live object. By default what is usual for the kind."},
			{name: "timeout", required: true, value: durationText, doc: "How long to wait for it, from the deletion of the primary, like `10m`."},
			{name: "template", required: true, value: mapOf(&templateShape), doc: "The object, as data: a whole manifest in which `${...}` stands for values."},
		},
		more: schema{AllOf: []*schema{withName("name", "generateName")}},
		wrong: map[string]wrongKey{
			"forEach":        onlyChildren,
			"replicas":       onlyChildren,
			"ifExists":       onlyChildren,
			"onChange":       onlyChildren,
			"maxUnavailable": onlyChildren,
			"onDelete":       onlyChildren,
			"ignoreFields":   onlyChildren,
		},
	}
	inTemplate   = wrongKey{hint: "the object stands under template", means: "template"}
	inForEach    = wrongKey{hint: "write forEach: [{name: item, in: self.spec.items}]", means: "forEach"}
	onlyChildren = wrongKey{hint: "only children have it: an object of finalize is created once, then left alone"}
)

// What may be done about an object that somebody else has made, about one that
// is to look different, and about one whose primary goes.
var (
	takeovers = choices{
		{"fail", "Leave it alone, and say that it is there."},
		{"adopt", "Take it over if nobody controls it."},
	}
	changes = choices{
		{"apply", "Apply the change to the object."},
		{replace, "Delete the object, and create it again when it is gone."},
		{keep, "Leave the object as it was created, whoever changes it."},
	}
	partings = choices{
		{"delete", "It is deleted when no rule renders it any more, or the primary goes."},
		{"orphan", "reconcel never deletes it."},
	}
)

const replace, keep = "replace", "keep"

// Children about which more is to be said, or less.
var (
	aPod = &schema{Required: []string{"template"}, Properties: properties{{"template", &schema{
		Required:   []string{"apiVersion", "kind"},
		Properties: properties{{"apiVersion", &schema{Const: "v1"}}, {"kind", &schema{Const: "Pod"}}},
	}}}}
	kept = &schema{Required: []string{"onChange"}, Properties: properties{{"onChange", &schema{Const: keep}}}}
)

// A section is the list of children, or that of finalize.
type section struct {
	scope   scope
	shape   *shape
	items   []*yaml.Node
	entries []*Child // of the same index; nil where nothing could be read
}

// readSection reads all but the order of the entries, for which all ids must
// be known.
func (s scope) readSection(n *yaml.Node, sh *shape, names *names) *section {
	if n != nil && n.Kind != yaml.SequenceNode {
		names.lose(n)
	}
	sec := &section{scope: s, shape: sh, items: s.list(n)}
	for i, item := range sec.items {
		sec.entries = append(sec.entries, s.index(i).readChild(item, sh, names))
	}
	return sec
}

// children returns the entries that could be read.
func (sec *section) children() []*Child {
	return slices.DeleteFunc(slices.Clone(sec.entries), func(c *Child) bool { return c == nil })
}

// childID returns the id of an entry before anything of it has been checked.
func childID(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "id" {
			return scalarText(n.Content[i+1])
		}
	}
	return ""
}

// readChild reads an entry of children or finalize; a key that its shape does
// not have is nowhere in the table.
func (s scope) readChild(n *yaml.Node, sh *shape, names *names) *Child {
	s = s.named(childID(n))
	t := s.table(n, sh)
	if t == nil {
		names.nameless = true
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := n.Content[i+1]; t[n.Content[i].Value] != value {
			names.loseIterators(value)
		}
	}
	c := &Child{Pos: s.text.pos(n), Entry: s.entry}
	id, ok := s.key("id").literal(t["id"])
	names.nameless = names.nameless || !ok
	c.ID, c.Unfit = id, !ok || !s.key("id").claim(id, names)
	c.When = s.key("when").expr(t["when"])
	c.ForEach = s.key("forEach").readForEach(t["forEach"], names)
	c.Replicas = s.key("replicas").replicas(t["replicas"])
	c.ReadyWhen = s.key("readyWhen").expr(t["readyWhen"])
	c.FailWhen = s.key("failWhen").expr(t["failWhen"])
	c.IfExists = s.key("ifExists").oneOf(t["ifExists"], takeovers)
	c.OnChange = s.key("onChange").oneOf(t["onChange"], changes)
	c.OnDelete = s.key("onDelete").oneOf(t["onDelete"], partings)
	c.MaxUnavailable = s.key("maxUnavailable").maxUnavailable(t["maxUnavailable"])
	c.Timeout = s.key("timeout").duration(t["timeout"], time.Nanosecond)
	written := sh.written(n)
	s.checkMany(c, written)
	if t["template"] != nil {
		c.Template = s.key("template").readTemplate(t["template"], namingOf(written))
	}
	if sh == &childShape && written["onChange"] == nil {
		s.checkPod(t["template"])
	}
	c.IgnoreFields = s.key("ignoreFields").readIgnoreFields(t["ignoreFields"], t["template"], c.Template)
	if c.OnChange.Value == keep && len(c.IgnoreFields) > 0 {
		s.errorf(s.text.pos(written["ignoreFields"]), "ignoreFields has no use beside onChange: keep, which leaves every field alone").Hint =
			"remove it"
	}
	for _, p := range c.IgnoreFields {
		if c.OnChange.Value == replace && p.When != nil {
			s.errorf(p.Pos, "%s: a condition cannot stand beside onChange: replace: each time it changes, the object would be deleted and created anew",
				p.Entry).Hint = "ignore the field without a condition, or write onChange: apply"
		}
	}
	return c
}

// namingOf says how the objects of an entry get their names.
func namingOf(written map[string]*yaml.Node) naming {
	switch {
	case written["replicas"] == nil:
		return named
	case written["forEach"] == nil:
		return numbered
	}
	return undecided
}

// checkPod complains about a Pod of which nobody knows what a change is to do
// to it: almost none of its fields can be changed.
func (s scope) checkPod(template *yaml.Node) {
	if template == nil || scalarText(valueAt(template, "apiVersion")) != "v1" {
		return
	}
	if kind := valueAt(template, "kind"); scalarText(kind) == "Pod" {
		s.errorf(s.text.pos(kind), "a Pod cannot be changed in place: say what is to happen").Hint = "write onChange: replace, or keep"
	}
}
