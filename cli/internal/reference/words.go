package reference

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"reconcel/rules/expr"
	"reconcel/rules/expr/unchecked"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A wording says what the texts and expressions of a rule are, for people who do not know the
// rule.
type wording struct {
	src       *syntax.Rule
	lets      map[string]*source.Expr // and values of define
	functions map[string]*syntax.Definition
	named     map[string]named    // objects by id
	titles    map[string]Markdown // of objects by id, such as the Deployment `<name>`
	resolved  map[string]string   // the texts of lets and the names of objects, or "" if they have none
	shown     bool                // some expression is shown as it is
	mentioned []string            // the names in these expressions
}

// A named is what the rules say of the name of an object. What they do not say is nil.
type named struct{ name, prefix, namespace *source.Node }

func newWording(rule *syntax.Rule) *wording {
	w := &wording{
		src: rule, lets: map[string]*source.Expr{}, functions: map[string]*syntax.Definition{},
		named: map[string]named{}, titles: map[string]Markdown{}, resolved: map[string]string{},
	}
	for _, l := range rule.Let {
		if l.Expr != nil {
			w.lets[l.Name.Value] = l.Expr
		}
	}
	if rule.Definitions != nil {
		for _, d := range rule.Definitions.All {
			if len(d.Params) > 0 {
				w.functions[d.Name.Value] = d
			} else if d.Expr != nil {
				w.lets[d.Name.Value] = d.Expr
			}
		}
	}
	children := slices.Concat(rule.Children, rule.Finalize)
	for _, l := range rule.Lookups {
		w.named[l.ID.Value] = named{name: l.Name, namespace: l.Namespace}
	}
	for _, c := range children {
		metadata := c.Template.At("metadata")
		w.named[c.ID.Value] = named{metadata.At("name"), metadata.At("generateName"), metadata.At("namespace")}
	}
	for _, c := range children {
		kind := c.Template.At("kind").Literal().Value
		if c.Replicas != nil || len(c.ForEach) > 0 {
			kind += " objects"
		}
		w.titles[c.ID.Value] = formatf("the %v %v", Text(kind), Code(w.nameOf(c.ID.Value)))
	}
	for _, l := range rule.Lookups {
		w.titles[l.ID.Value] = formatf("the %v %s", Text(l.Kind.Value), w.found(l))
	}
	return w
}

// found says which objects a lookup finds.
func (w *wording) found(l *syntax.Lookup) Markdown {
	switch only := l.Selector.At("matchLabels"); {
	case l.Name != nil:
		return code(w.text(l.Name))
	case l.Names != nil:
		return "objects named " + w.data(l.Names)
	case only != nil && only.Kind == source.Map && len(l.Selector.Fields) == 1:
		var all []Code
		for _, f := range only.Fields {
			all = append(all, Code(f.Key.Value+"="+w.text(f.Value)))
		}
		return "objects with the label " + enumerate("and", all)
	}
	return "objects that match " + w.data(l.Selector)
}

// data shows data of the rules: an expression, or YAML.
func (w *wording) data(n *source.Node) Markdown {
	if n.Kind == source.Interp && len(n.Parts) == 1 {
		return w.given(n.Parts[0].Expr)
	}
	return code(w.text(n))
}

// given shows an expression, if there is one: the path of a field, or as it is.
func (w *wording) given(e *source.Expr) Markdown {
	if e == nil {
		return ""
	}
	if root, wrong := unchecked.Parse(w.behind(e)); wrong == "" {
		if variable, path, ok := pathOf(root); ok && variable == "self" && path != "" {
			return code(path)
		}
	}
	w.mention(e)
	return code(e.Text)
}

// behind returns the expression of the let that an expression names, or the expression itself.
func (w *wording) behind(e *source.Expr) *source.Expr {
	for w.lets[strings.TrimSpace(e.Text)] != nil {
		e = w.lets[strings.TrimSpace(e.Text)]
	}
	return e
}

// message shows a text for people.
func (w *wording) message(n *source.Node) Markdown {
	if n != nil && n.Kind == source.Interp && len(n.Parts) == 1 {
		return w.given(n.Parts[0].Expr)
	}
	return formatf("%v", Text(w.text(n)))
}

// condition says when an expression, if there is one, is true. It follows the word if.
func (w *wording) condition(e *source.Expr) Markdown {
	if e == nil {
		return ""
	}
	e = w.behind(e)
	if root, wrong := unchecked.Parse(e); wrong == "" {
		if c, ok := w.claimOf(root); ok {
			return c.is
		}
	}
	w.mention(e)
	return code(e.Text)
}

// A claim is the words for a condition and for its opposite.
type claim struct{ is, isNot Markdown }

// claimOf puts a condition into words. It returns false for one that is better read as it is.
func (w *wording) claimOf(e ast.Expr) (claim, bool) {
	say := func(of ast.Expr, is, isNot Markdown) (claim, bool) {
		subject, ok := w.subject(of)
		return claim{subject + is, subject + isNot}, ok
	}
	if c, ok := say(e, " is true", " is false"); ok || e.Kind() != ast.CallKind {
		return c, ok
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == operators.LogicalNot:
		c, ok := w.claimOf(args[0])
		return claim{c.isNot, c.is}, ok && c.isNot != ""
	case name == operators.LogicalAnd:
		left, ok := w.claimOf(args[0])
		right, okRight := w.claimOf(args[1])
		return claim{is: left.is + " and " + right.is}, ok && okRight
	case name == "has" && len(args) == 1:
		return say(args[0], " is set", " is not set")
	case name == "hasValue" && call.IsMemberFunction():
		return say(call.Target(), " is set", " is not set")
	case name == "exists" && len(args) == 1 && !call.IsMemberFunction():
		return say(args[0], " exists", " does not exist")
	case name == "isTrue" && len(args) == 2:
		condition, isText := expr.LiteralString(args[1])
		c, ok := say(args[0], " has the condition "+code(condition), " does not have the condition "+code(condition))
		return c, ok && isText
	}
	return claim{}, false
}

// subject names a field of the resource, or what is of an object.
func (w *wording) subject(e ast.Expr) (Markdown, bool) {
	root, path, ok := pathOf(e)
	object := w.titles[root]
	if root == "child" {
		object = "the object"
	}
	switch {
	case !ok || root != "self" && object == "" || root == "self" && path == "":
		return "", false
	case root == "self":
		return code(path), true
	case path == "":
		return object, true
	}
	return formatf("%v of %s", Code(path), object), true
}
