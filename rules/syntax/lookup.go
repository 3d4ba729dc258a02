package syntax

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/source"
)

var lookupShape = source.Shape{
	Doc: "An object that the rule reads by name, or a list of objects that it reads by selector.",
	Keys: []source.Key{
		{Name: "id", Required: true, Value: identifierName, Doc: "Names the object, or the list, in expressions."},
		{Name: "apiVersion", Value: apiVersionName, Doc: "Group and version, like `apps/v1`, or `v1` for the core group."},
		{Name: "kind", Required: true, Value: kindName,
			Doc: "The kind, like `ConfigMap`, or, without `apiVersion`, `self`: that of the primary."},
		{Name: "namespace", Value: namespaceData, Doc: "The namespace. By default that of the primary; another one, " +
			"or `\"\"` for all, needs `allow.read`. May contain `${...}`."},
		{Name: "name", Value: filledData, Doc: "Looks up one object. May contain `${...}`. Use this, `names` or `selector`."},
		{Name: "names", Value: listData, Doc: "Looks up the objects of a list of names, in its order. Names without an " +
			"object are left out. May contain `${...}`."},
		{Name: "selector", Value: orSelectorText(orComputed(computedSelector.Schema())),
			Doc: "Looks up a list, sorted by namespace and name: a label " +
				"selector that may contain `${...}`, or one `${...}`. `{}` selects all. " +
				"It can be text, as kubectl takes it: `" + SelectorExample + "`. Use this, `name` or `names`."},
	},
	More: source.Schema{
		AnyOf: []*source.Schema{requiresKeys("name"), requiresKeys("names"), requiresKeys("selector")},
		AllOf: []*source.Schema{versionUnlessSelf},
		Dependencies: map[string]*source.Schema{
			"name": {Properties: source.Properties{{Name: "selector"}, {Name: "names"},
				{Name: "namespace", Value: source.FilledText}}},
			"names": {Properties: source.Properties{{Name: "selector"}, {Name: "namespace", Value: source.FilledText}}},
		},
	},
	Wrong: map[string]source.WrongKey{
		"matchLabels":      {Hint: "write selector: {matchLabels: ...}", Means: "selector"},
		"matchExpressions": {Hint: "write selector: {matchExpressions: ...}", Means: "selector"},
		"labelSelector":    {Means: "selector"},
		"labels":           {Hint: "write selector: {matchLabels: ...}", Means: "selector"},
		"when":             {Hint: "a lookup is unconditional: put the condition where it is read"},
	},
}

// readLookups reads the objects that a rule reads but does not own.
func readLookups(v source.Value, names *names) []*Lookup {
	names.loseUnlessList(v)
	var lookups []*Lookup
	for _, item := range v.Items() {
		if l := readLookup(item.Named(item.Peek("id").Scalar()), names); l != nil {
			lookups = append(lookups, l)
		}
	}
	return lookups
}

func readLookup(v source.Value, names *names) *Lookup {
	t := v.Table(&lookupShape)
	if !t.IsMap() {
		names.nameless = true
		return nil
	}
	l := &Lookup{Pos: v.Pos(), Entry: v.Entry()}
	l.ID, l.Unusable = names.readID(t.Key("id"))
	if l.Kind = readSelf(v); l.Kind.Value == "" {
		t.Require("apiVersion")
		l.APIVersion = readAPIVersion(t.Key("apiVersion"))
		l.Kind = readKind(t.Key("kind"))
	}
	l.Namespace = readLookupNamespace(t.Key("namespace"))
	if name := t.Key("name").Sentence(); name != nil && name.Kind == source.Text && name.Value == "" {
		t.Key("name").Errorf("is empty")
	} else {
		l.Name = name
	}
	if list := t.Key("names"); !list.Missing() {
		l.Names = readNameList(list)
	}
	if selector := t.Key("selector"); !selector.Missing() {
		l.Selector = readDataSelector(selector)
	}
	checkWhatIsRead(v, t, l)
	if l.ways() != 1 && l.ID.Value != "" {
		// It is not known whether the lookup is an object or a list.
		l.Unusable = true
		names.lost = append(names.lost, l.ID.Value)
	}
	return l
}

// ways returns how many of name, names and selector could be read.
func (l *Lookup) ways() (n int) {
	for _, way := range []*source.Node{l.Name, l.Names, l.Selector} {
		if way != nil {
			n++
		}
	}
	return n
}

// readNameList reads the names of a lookup: a list, or one ${...}.
func readNameList(v source.Value) *source.Node {
	if !v.IsList() && !v.Alone() {
		v.WrongShape("a list")
		return nil
	}
	return v.Data()
}

// checkWhatIsRead requires that there is a name, a list of names or a selector.
func checkWhatIsRead(v source.Value, t source.Table, l *Lookup) {
	_, name := t.Written("name")
	at, names := t.Written("names")
	p, selector := t.Written("selector")
	switch {
	case !name && !names && !selector:
		v.Errorf("missing name, names or selector").Hint = "name looks up one object, names and selector a list: selector: " +
			"{} is all of them"
	case name && selector:
		v.ErrorAt(p, "selector cannot be used together with name").Hint = "name looks up one object, selector a list: " +
			"choose one"
	case names && selector:
		v.ErrorAt(p, "selector cannot be used together with names").Hint = "choose one"
	case name && names:
		v.ErrorAt(at, "names cannot be used together with name").Hint = "name looks up one object, names a list: choose one"
	case names && l.Namespace != nil && l.Namespace.Kind == source.Text && l.Namespace.Value == "":
		t.Key("namespace").Errorf("\"\" means all namespaces, but names selects objects of one").Hint =
			"name their namespace, or write a selector instead of names"
	case name && l.Namespace != nil && l.Namespace.Kind == source.Text && l.Namespace.Value == "":
		t.Key("namespace").Errorf("\"\" means all namespaces, but name selects one object").Hint =
			"name its namespace, or write a selector instead of name"
	}
}

// readLookupNamespace reads the namespace of a lookup. An empty string is all
// namespaces.
func readLookupNamespace(v source.Value) *source.Node {
	const everywhere = `write "" for all namespaces`
	if !v.Missing() && v.IsNull() {
		v.Errorf("expected text, got %s", v.Describe()).Hint = everywhere + ", or remove the key"
		return nil
	}
	d := v.Sentence()
	if d == nil || d.Kind != source.Text {
		return d
	}
	if name := d.Value.(string); name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		e := v.Errorf("%q is not the name of a namespace", name)
		if meant := source.Forgotten(name, func(string) bool { return false }); meant != "" {
			e.Hint = "write " + meant
		} else if strings.ContainsAny(name, "*?") {
			e.Hint = everywhere
		}
		return nil
	}
	return d
}
