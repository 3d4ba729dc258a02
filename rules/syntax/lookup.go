package syntax

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
)

var lookupShape = shape{
	doc: "An object that the rule reads, by name, or a list of objects, by selector.",
	keys: []key{
		{name: "id", required: true, value: identifierName, doc: "Names the object, or the list, in expressions."},
		{name: "apiVersion", required: true, value: apiVersionName, doc: "Group and version, like `apps/v1`, or `v1` for the core group."},
		{name: "kind", required: true, value: kindName, doc: "The kind, like `ConfigMap`."},
		{name: "namespace", value: namespaceData, doc: "Where to look. The primary's own namespace by default; another one, " +
			"or `\"\"` for all, needs `allow.read`. May hold `${...}`."},
		{name: "name", value: filledData, doc: "Looks up one object. May hold `${...}`. Either this or `selector`."},
		{name: "selector", value: orComputed(mapOf(&computedSelector)), doc: "Looks up a list, sorted by namespace and name: a label " +
			"selector in which `${...}` may stand, or one `${...}`. `{}` selects all. Either this or `name`."},
	},
	more: schema{
		AnyOf: []*schema{requires("name"), requires("selector")},
		Dependencies: map[string]*schema{
			"name": {Properties: properties{{"selector", nil}, {"namespace", filledData}}},
		},
	},
	wrong: map[string]wrongKey{
		"matchLabels":      {hint: "write selector: {matchLabels: ...}", means: "selector"},
		"matchExpressions": {hint: "write selector: {matchExpressions: ...}", means: "selector"},
		"labelSelector":    {hint: "write selector", means: "selector"},
		"labels":           {hint: "write selector: {matchLabels: ...}", means: "selector"},
		"when":             {hint: "a lookup is always made: put the condition where it is read"},
	},
}

// readLookups reads the objects that a rule reads and does not own.
func (s scope) readLookups(n *yaml.Node, names *names) []*Lookup {
	if n != nil && n.Kind != yaml.SequenceNode {
		names.lose(n)
	}
	var lookups []*Lookup
	for i, item := range s.list(n) {
		if l := s.index(i).readLookup(item, names); l != nil {
			lookups = append(lookups, l)
		}
	}
	return lookups
}

func (s scope) readLookup(n *yaml.Node, names *names) *Lookup {
	s = s.named(childID(n))
	t := s.table(n, &lookupShape)
	if t == nil {
		names.nameless = true
		return nil
	}
	l := &Lookup{Pos: s.text.pos(n), Entry: s.entry}
	id, ok := s.key("id").literal(t["id"])
	names.nameless = names.nameless || !ok
	l.ID, l.Unfit = id, !ok || !s.key("id").claim(id, names)
	l.APIVersion = s.key("apiVersion").apiVersion(t["apiVersion"])
	l.Kind = s.key("kind").kind(t["kind"])
	l.Namespace = s.key("namespace").lookupNamespace(t["namespace"])
	if name := s.key("name").sentence(t["name"]); name != nil && name.Kind == Text && name.Value == "" {
		s.key("name").errorf(name.Pos, "is empty")
	} else {
		l.Name = name
	}
	if t["selector"] != nil {
		l.Selector = s.key("selector").dataSelector(t["selector"])
	}
	s.checkOne(n, l)
	if (l.Name == nil) == (l.Selector == nil) && ok {
		// Nobody knows whether it is to be an object or a list.
		l.Unfit = true
		names.lost = append(names.lost, id.Value)
	}
	return l
}

// checkOne requires that there is either a name or a selector.
func (s scope) checkOne(n *yaml.Node, l *Lookup) {
	written := lookupShape.written(n)
	name, selector := written["name"], written["selector"]
	switch {
	case name == nil && selector == nil:
		s.errorf(s.text.pos(n), "missing name or selector").Hint = "name looks up one object, selector a list: {} is all of them"
	case name != nil && selector != nil:
		s.errorf(s.text.pos(selector), "selector cannot stand beside name").Hint = "name looks up one object, selector a list: choose one"
	case name != nil && l.Namespace != nil && l.Namespace.Kind == Text && l.Namespace.Value == "":
		s.key("namespace").errorf(l.Namespace.Pos, "\"\" means all namespaces, but name is that of one object").Hint =
			"name its namespace, or write a selector instead of name"
	}
}

// lookupNamespace reads where to look; an empty string is everywhere.
func (s scope) lookupNamespace(n *yaml.Node) *Node {
	const everywhere = `write "" for all namespaces`
	if n != nil && isNull(n) {
		s.errorf(s.text.pos(n), "expected text, got %s", describe(n)).Hint = everywhere + ", or remove the key"
		return nil
	}
	d := s.sentence(n)
	if d == nil || d.Kind != Text {
		return d
	}
	if name := d.Value.(string); name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		e := s.errorf(d.Pos, "%q is not the name of a namespace", name)
		if meant := Forgotten(name); meant != "" {
			e.Hint = "write " + meant
		} else if strings.ContainsAny(name, "*?") {
			e.Hint = everywhere
		}
		return nil
	}
	return d
}
