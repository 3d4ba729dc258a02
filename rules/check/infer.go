package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A typed expression has been checked. Its ast is nil if there were errors.
type typed struct {
	src *source.Expr
	ast *ast.AST
	t   *types.Type
}

func (t *typed) pos(e ast.Expr) source.Pos { return expr.Start(t.src, t.ast, e) }

// A scope is a set of variables and their types.
type scope struct {
	r     *rule
	names map[string]*types.Type
	cel   *expr.TypedScope
}

// scope returns the variables of the rule so far, and more.
func (r *rule) scope(more map[string]*types.Type) *scope {
	names := maps.Clone(r.vars)
	maps.Copy(names, more)
	return &scope{r: r, names: names}
}

// alone returns a scope of one variable.
func (r *rule) alone(name string) *scope {
	return &scope{r: r, names: map[string]*types.Type{name: r.vars[name]}}
}

// view returns the scope for CEL. It is nil if CEL rejects a name, which is a
// loading error.
func (s *scope) view() *expr.TypedScope {
	if s.cel == nil {
		provide := func(cel types.Provider) types.Provider { return provider{cel, s.r.all} }
		s.cel, _ = expr.NewTypedScope(provide, s.names, s.r.entriesOf()...)
	}
	return s.cel
}

func (s *scope) parse(src *source.Expr) *ast.AST {
	if cel := s.view(); cel != nil && src != nil {
		return cel.Parse(src)
	}
	return nil
}

// infer checks an expression once and returns its type: dyn after an error.
func (r *rule) infer(src *source.Expr, sc *scope, where string) *typed {
	if t := r.typed[src]; t != nil {
		return t
	}
	out := &typed{src: src, t: types.DynType}
	r.typed[src] = out
	parsed := sc.parse(src)
	if parsed == nil || r.damaged(src) {
		return out
	}
	checked, issues := sc.cel.Check(src, parsed)
	known := checked.TypeMap()
	for level := literals; level <= everything && slices.ContainsFunc(issues, mayBeLoose); level++ {
		again := sc.parse(src)
		loosen(again, known, r.all, level)
		checked, issues = sc.cel.Check(src, again)
	}
	if slices.ContainsFunc(issues, func(i expr.Issue) bool { return i.Undeclared != "" }) {
		return out // The name may belong to something that did not load.
	}
	for _, i := range issues {
		r.issue(i, checked, where)
	}
	if len(issues) == 0 {
		out.ast = checked
		out.t = checked.GetType(checked.Expr().ID())
		r.compared(out, where)
	}
	return out
}

// checked returns an expression that CEL accepts, or nil.
func (r *rule) checked(src *source.Expr) *typed {
	if t := r.typed[src]; t != nil && t.ast != nil {
		return t
	}
	return nil
}

// mayBeLoose reports whether an issue may be about objects that CEL does not accept
// as maps.
func mayBeLoose(i expr.Issue) bool { return i.Field == "" }

func (r *rule) issue(i expr.Issue, checked *ast.AST, where string) {
	if i.Field == "" {
		r.errorf(i.Pos, "%s: %s", where, inPlainWords(i.Message)).Hint = i.Hint
		return
	}
	hint := i.Hint
	if e := expr.NodeOf(checked, i.Node); e != nil {
		if o := r.all.object(checked.GetType(expr.Operand(e).ID())); o != nil {
			hint = source.Suggest(i.Field, o.names())
			if hint == "" && o.whole && slices.Contains(ofMetadata, i.Field) {
				hint = "write metadata." + i.Field
			}
		}
	}
	r.errorf(i.Pos, "%s: undefined field '%s'", where, i.Field).Hint = hint
}

// ofMetadata are fields that people look for one level too high.
var ofMetadata = []string{"name", "namespace", "labels", "annotations", "uid", "generation", "ownerReferences"}

// saidPlainly rewrites some of CEL's messages.
var saidPlainly = []struct {
	message *regexp.Regexp
	plain   string
}{
	{regexp.MustCompile(`^type '(.*)' does not support field selection$`), "a value of type $1 has no fields"},
	{regexp.MustCompile(`^expression of type '(.*)' cannot be range of a comprehension.*`), "a value of type $1 cannot be iterated"},
	{regexp.MustCompile(`^(\w+\(\)) does not take (.*)\.\((.*)\)$`), "$1 of $2 does not take ($3)"},
}

func inPlainWords(message string) string {
	for _, m := range saidPlainly {
		message = m.message.ReplaceAllString(message, m.plain)
	}
	return message
}

// phrases name the kinds of values that fields of rules hold.
var phrases = map[types.Kind]string{
	types.BoolKind: "true or false", types.IntKind: "a whole number", types.ListKind: "a list",
}

// want checks an expression that must be of one kind.
func (r *rule) want(src *source.Expr, sc *scope, kind types.Kind, where string) {
	if src == nil {
		return
	}
	t := r.infer(src, sc, where)
	inner, optional := unwrapped(t.t)
	if inner.Kind() == types.DynKind || inner.Kind() == kind && !optional {
		return
	}
	e := r.errorf(src.Pos, "%s: must be %s, but is of type %s", where, phrases[kind], typeName(t.t))
	if optional {
		e.Hint = "give it a default with orValue()"
	}
}

// typeName returns a type as messages show it.
func typeName(t *types.Type) string {
	if inner, optional := unwrapped(t); optional {
		return "optional " + typeName(inner)
	}
	switch t.Kind() {
	case types.StructKind:
		return "map"
	case types.MapKind:
		if inner := t.Parameters()[1]; inner.Kind() != types.DynKind {
			return "map of " + typeName(inner)
		}
		return "map"
	case types.IntKind, types.UintKind:
		return "integer"
	case types.DoubleKind:
		return "number"
	case types.BoolKind:
		return "boolean"
	case types.ListKind:
		if inner := t.Parameters()[0]; inner.Kind() != types.DynKind {
			return "list of " + typeName(inner)
		}
		return "list"
	case types.NullTypeKind:
		return "null"
	case types.DynKind:
		return "any"
	}
	return strings.TrimPrefix(t.TypeName(), "google.protobuf.")
}
