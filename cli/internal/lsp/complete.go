package lsp

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/check"
	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// complete suggests what can be written at a spot.
func (s *server) complete(d *document, at spot) completionList {
	c := completion{document: d, place: d.place(at), cursor: at, set: s.kinds.last(d.path)}
	if e, inside := d.expression(c.place); inside {
		c.expression(e)
	} else {
		if c.isKey {
			c.keys()
		}
		if c.node != nil && (!c.isKey || c.node.item) {
			c.values()
		}
	}
	return completionList{Items: append([]completionItem{}, c.items...)}
}

// A completion collects suggestions for a place.
type completion struct {
	*document
	place
	cursor spot
	set    *schema.Set
	items  []completionItem
}

// add adds a suggestion that replaces the word of the place.
func (c *completion) add(i completionItem, text string) {
	i.Edit = textEdit{c.span(c.cursor.line, c.from, max(c.to, c.cursor.column)), text}
	i.Sort = cmp.Or(i.Sort, "1") + i.Label
	c.items = append(c.items, i)
}

// keys suggests keys of the language, and fields of a kind.
func (c *completion) keys() {
	have := map[string]bool{}
	for _, other := range c.parent.children {
		if other != c.node {
			have[other.key] = true
		}
	}
	offer := func(name, detail, doc string, nested bool) {
		if have[name] {
			return
		}
		have[name] = true
		text := quoteKey(name)
		if c.node == nil || c.node.item { // Otherwise the colon is written.
			text += ":"
			if !nested || c.parent.isFlow() {
				text += " "
			}
		}
		c.add(completionItem{Label: name, Kind: itemField, Detail: detail, Doc: doc}, text)
	}
	s := keySchema(c.parent.path())
	if s != nil {
		for _, p := range s.Properties {
			if p.Value == nil {
				have[p.Name] = true // It is forbidden here.
				continue
			}
			offer(p.Name, required(slices.Contains(s.Required, p.Name)), p.Value.Doc, slices.Contains(p.Value.Type, "object") ||
				slices.Contains(p.Value.Type, "array"))
		}
		if len(s.Properties) > 0 && s.Others == false {
			return
		}
	}
	if t, in := fieldType(c.parent, c.set); in {
		for _, f := range t.Fields() {
			offer(f.Name, strings.TrimSpace(f.String()+" "+required(f.Required)), f.Doc(), f.IsMap() || f.IsList())
		}
	}
}

func required(yes bool) string {
	if yes {
		return "required"
	}
	return ""
}

// quoteKey quotes a key that YAML would read as something else.
func quoteKey(name string) string {
	if source.IsPlain(strings.NewReplacer(".", "", "/", "", "$", "").Replace(name)) {
		return name
	}
	return `"` + name + `"`
}

// values suggests values of a key.
func (c *completion) values() {
	n := c.node
	offer := func(value, doc string) { c.add(completionItem{Label: value, Kind: itemValue, Doc: doc}, value) }
	path := n.path()
	if s := keySchema(path); s != nil {
		if s.Const != "" {
			offer(s.Const, "")
		}
		for _, one := range append([]*source.Schema{s}, s.AnyOf...) {
			for i, value := range one.Enum {
				doc := ""
				if i < len(one.EnumDocs) {
					doc = one.EnumDocs[i]
				}
				offer(value, doc)
			}
		}
		if slices.Contains(s.Type, "boolean") && len(s.Type) == 1 {
			offer("true", "")
			offer("false", "")
		}
	}
	if t, in := fieldType(n, c.set); in {
		for _, value := range t.Enum() {
			offer(value, "")
		}
		if t.IsBool() {
			offer("true", "")
			offer("false", "")
		}
	}
	switch {
	case len(path) < 3:
	case n.key == "kind" || n.key == "apiVersion":
		c.kinds(offer)
	case n.item && n.parent.key == "after":
		entry, _ := n.entry()
		rule := n.rule()
		for _, child := range slices.Concat(rule.find("children").items(), rule.find("finalize").items()) {
			if child != entry {
				offer(child.find("id").text(), "")
			}
		}
	}
}

// kinds suggests known kinds, or the versions of one.
func (c *completion) kinds(offer func(value, doc string)) {
	apiVersion, kind := c.node.parent.find("apiVersion").text(), c.node.parent.find("kind").text()
	seen := map[string]bool{}
	if _, list := c.node.entry(); list != "" && list != "for" && c.node.key == "kind" && apiVersion == "" {
		offer(syntax.Self, "the kind of the primary")
	}
	for _, k := range c.set.Kinds() {
		value, fits := k.GVK.Kind, apiVersion == "" || k.GVK.GroupVersion().String() == apiVersion
		if c.node.key == "apiVersion" {
			value, fits = k.GVK.GroupVersion().String(), kind == "" || k.GVK.Kind == kind
		}
		if fits && !seen[value] {
			seen[value] = true
			offer(value, "")
		}
	}
}

// identifier matches the fields that can be selected without backquotes.
var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// expression suggests names, fields and functions.
func (c *completion) expression(e expression) {
	n := c.place.node
	if n == nil {
		n = c.parent
	}
	scope := c.scope(n, c.set)
	chain, found := e.chain()
	if scope == nil || !found {
		return
	}
	start := c.spotOf(e.start + chain.start)
	c.from, c.to = start.column, start.column+chain.end-chain.start
	scope = e.locals(scope)
	if chain.operand == "" {
		c.names(scope)
		return
	}
	if own := inNamespace(scope, chain.operand); own != nil {
		for _, f := range own {
			c.function(f, itemFunction, strings.TrimPrefix(f.Name, chain.operand+"."))
		}
		return
	}
	t := scope.TypeOf(&source.Expr{Text: chain.operand})
	for _, f := range t.Value().Fields() {
		text := f.Name
		if !identifier.MatchString(text) {
			text = "`" + text + "`"
		}
		c.add(completionItem{Label: f.Name, Kind: itemField, Detail: f.String(), Doc: f.Doc()}, text)
	}
	for _, f := range t.Methods() {
		c.function(f, itemMethod, f.Name)
	}
}

// names suggests what an expression may begin with.
func (c *completion) names(scope *check.Scope) {
	for _, name := range scope.Names() {
		c.add(completionItem{Label: name, Kind: itemVariable, Detail: scope.TypeOf(&source.Expr{Text: name}).String()}, name)
	}
	for _, def := range scope.Definitions() {
		if def.IsFunction {
			c.add(completionItem{Label: def.Name, Kind: itemFunction, Detail: def.Signature + ": " + def.Result.String()},
				def.Name)
		}
	}
	for _, f := range expr.Functions() {
		c.function(f, itemFunction, f.Name)
	}
	for _, word := range []string{"true", "false", "null"} {
		c.add(completionItem{Label: word, Kind: itemKeyword, Sort: "3"}, word)
	}
}

// function suggests a function. text is the part of its name that is still missing.
func (c *completion) function(f expr.Function, kind int, text string) {
	c.add(completionItem{Label: text, Kind: kind, Sort: "2", Detail: f.Usage[0], Doc: strings.Join(f.Usage, "\n")}, text)
}

// inNamespace returns the functions whose names begin with a namespace and a dot, such as
// lists.range, unless a variable has the name of the namespace.
func inNamespace(scope *check.Scope, namespace string) (all []expr.Function) {
	if slices.Contains(scope.Names(), namespace) {
		return nil
	}
	for _, f := range expr.Functions() {
		if strings.HasPrefix(f.Name, namespace+".") {
			all = append(all, f)
		}
	}
	return all
}

// language is the schema of rules files.
var language = syntax.Schema()

// keySchema returns what the language says about the value at a path, or nil.
func keySchema(path []string) *source.Schema {
	at := language
	for _, key := range path {
		if at = below(at, key); at == nil {
			return nil
		}
	}
	return at
}

// below returns the schema of a key, or of the items of a list for "".
func below(at *source.Schema, key string) *source.Schema {
	if key == "" && at.Items != nil {
		return at.Items
	}
	i := slices.IndexFunc(at.Properties, func(p source.Property) bool { return key != "" && p.Name == key })
	if i >= 0 {
		return at.Properties[i].Value
	}
	if others, ok := at.Others.(*source.Schema); ok && key != "" {
		return others
	}
	for _, s := range slices.Concat(at.AnyOf, at.AllOf) {
		if found := below(s, key); found != nil {
			return found
		}
	}
	return nil
}

// rule returns the rule that a node is in, or nil.
func (n *node) rule() *node {
	for ; n != nil && n.parent != nil; n = n.parent {
		if path := n.path(); len(path) == 2 && path[0] == "rules" && n.item {
			return n
		}
	}
	return nil
}

// entry returns the entry of a list of the rule that a node is in, and the key of that
// list, such as children.
func (n *node) entry() (entry *node, list string) {
	for ; n != nil && n.parent != nil; n = n.parent {
		if path := n.path(); len(path) == 4 && path[0] == "rules" && n.item {
			return n, path[2]
		}
	}
	return nil, ""
}

func (n *node) gvk() runtimeschema.GroupVersionKind {
	if version := n.find("apiVersion"); n.find("kind").text() == syntax.Self && version == nil {
		n = n.primary()
	}
	return runtimeschema.FromAPIVersionAndKind(n.find("apiVersion").text(), n.find("kind").text())
}

// primary returns the kind of the rule that a node is in: the first one of several.
func (n *node) primary() *node {
	selection := n.rule().find("for")
	if kinds := selection.items(); len(kinds) > 0 {
		return kinds[0]
	}
	return selection
}

// fieldType returns the type that a schema of Kubernetes gives the value of a node, and
// whether the node is in something with such a schema.
func fieldType(n *node, set *schema.Set) (check.Type, bool) {
	path := n.path()
	if len(path) < 3 || path[0] != "rules" {
		return check.Type{}, false
	}
	var t check.Type
	known := true
	rest := path[3:]
	entry, list := n.entry()
	switch {
	case path[2] == "patch":
		t, known = check.KindType(set, n.primary().gvk())
	case path[2] == "status":
		if t, known = check.KindType(set, n.primary().gvk()); known {
			t, known = t.Field("status")
		}
	case entry != nil && len(path) > 4 && path[4] == "template" && (list == "children" || list == "finalize"):
		t, known = check.KindType(set, entry.find("template").gvk())
		rest = path[5:]
	case entry != nil && len(path) > 4 && path[4] == "selector" && list == "lookups":
		t, rest = check.SelectorType(set), path[5:]
	case len(path) > 3 && (path[2] == "for" && path[3] == "selector" || path[2] == "rollout" && path[3] == "first"):
		t, rest = check.SelectorType(set), path[4:]
	case len(path) > 4 && path[2] == "for" && path[3] == "" && path[4] == "selector":
		t, rest = check.SelectorType(set), path[5:]
	default:
		return t, false
	}
	for _, key := range rest {
		switch {
		case !known:
			return check.Type{}, true
		case key == "":
			t = t.Element()
		default:
			t, known = t.Field(key)
		}
	}
	return t, true
}
