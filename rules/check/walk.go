package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
	"reconcel/rules/lint"
	"reconcel/rules/source"
)

// A completeness says which fields that the schema requires a value must have.
type completeness int

const (
	wholeValue   completeness = iota
	statusFields              // each field is applied alone, with all that it requires
	partOfObject              // it is merged into an object
)

// Walking is what the walkers of a rule share.
type walking struct {
	*subject
	reporter    *reporter
	kinds       *kinds
	expressions *expressions
	texts       *texts
	follower    *follower
	omissions   *omissions
	scalars     *scalars
	merges      *merges
}

// A walker compares data with a schema.
type walker struct {
	*walking
	sc      *expr.TypedScope
	partial completeness
	depth   int
}

// value compares a value with the schema of its field. Nothing is known of a nil
// schema.
func (w walker) value(n *source.Node, p *fieldSchema, where string) {
	if n == nil {
		return // The parser has complained.
	}
	if w.depth > 0 && !w.mayCopy() {
		return
	}
	switch n.Kind {
	case source.Interp:
		w.interp(n, p, where)
	case source.Map:
		w.fields(n, p, where)
	case source.List:
		w.elements(n, p, where)
	case source.Null: // It leaves its entry out.
	default:
		if p == nil || w.scalars.scalar(n, p, where) {
			w.texts.forgotten(n, where)
		}
	}
}

// isText reports whether a node is one expression that gives a text.
func (w walker) isText(n *source.Node) bool {
	if n.Kind != source.Interp || len(n.Parts) != 1 {
		return false
	}
	t := w.expressions.checked(n.Parts[0].Expr)
	return t != nil && t.t.Kind() == types.StringKind
}

const (
	maxDepth  = 20      // how far lets are followed
	maxCopied = 200_000 // how many values in lets are compared with the fields that name the lets
)

// mayCopy counts a value in a let, and reports whether they are not too many: lets that
// use lets double it with each level.
func (w walker) mayCopy() bool {
	w.copied++
	return w.copied <= maxCopied
}

func (w walker) interp(n *source.Node, p *fieldSchema, where string) {
	if len(n.Parts) > 1 && n.Padded() && p != nil && !w.all.fits(types.StringType, p) {
		w.scalars.mismatch(n.Pos, p, types.StringType,
			where).Hint = "a line break makes it a text: write |- or >-, or no blanks around ${...}"
		return
	}
	if len(n.Parts) > 1 {
		w.texts.textParts(n, w.sc, where)
		if p != nil {
			w.scalars.wants(n.Pos, p, types.StringType, where)
		}
		return
	}
	src := n.Parts[0].Expr
	t := w.expressions.infer(src, w.sc, where)
	if n := w.follower.copiedData(src); n != nil && w.depth < maxDepth {
		if w.misplaced(n, p) {
			w.reporter.errorf(src.Pos, "%s: the let %q has none of its fields", where,
				strings.TrimSpace(src.Text)).Hint = "it has " + strings.Join(slices.Sorted(maps.Keys(p.Properties)), ", ")
			return
		}
		w.depth++
		w.value(n, p, where)
		return
	}
	if p != nil && t.ast != nil {
		w.expression(t, t.ast.Expr(), p, where)
	}
}

// misplaced reports whether a map of a let has none of the fields of a schema, not even
// misspelt: the expression that names the let is wrong, rather than the let.
func (w walker) misplaced(n *source.Node, p *fieldSchema) bool {
	if n.Kind != source.Map || len(n.Fields) == 0 || p == nil || p.is != fielded || p.open {
		return false
	}
	names := slices.Collect(maps.Keys(p.Properties))
	return !slices.ContainsFunc(n.Fields, func(f source.Field) bool {
		return w.all.field(p, f.Key.Value) != nil || source.Suggest(f.Key.Value, names) != ""
	})
}

// below returns the schema of a field and complains if it is unknown.
func (w walker) below(p *fieldSchema, key source.String, where string) *fieldSchema {
	if p == nil {
		return nil
	}
	switch p.is {
	case mapping:
		return w.all.values(p)
	case fielded:
		if f := w.all.field(p, key.Value); f != nil {
			return f
		}
		if !p.open {
			w.unknownField(key.Pos, key.Value, p, where)
		}
	}
	return nil
}

func (w walker) unknownField(pos source.Pos, key string, p *fieldSchema, where string) {
	text := "%s: unknown field"
	if w.partial == statusFields {
		text = "%s: unknown field, which the API server drops"
	}
	e := w.reporter.errorf(pos, text, where)
	e.Hint = w.suggester.Suggest(key, maps.Keys(p.Properties))
	first, _, _ := strings.Cut(key, ".")
	if _, known := p.Properties[first]; known && source.Nested(key) != "" {
		e.Hint = "write " + source.Nested(key)
	}
	e.Hint = w.kinds.orNew(e.Hint, p)
}

func (w walker) fields(n *source.Node, p *fieldSchema, where string) {
	if p != nil && p.is != mapping && p.is != fielded && p.is != anything {
		w.scalars.wants(n.Pos, p, types.NewMapType(types.StringType, types.DynType), where)
		p = nil
	}
	for _, f := range n.Fields {
		at := joinPath(where, f.Key.Value)
		inner := w
		if w.partial == statusFields {
			inner.partial = wholeValue
		}
		if p != nil && p.is == fielded && len(w.src.Others) > 0 && w.all.field(p, f.Key.Value) == nil {
			inner.value(f.Value, nil, at)
			if !w.ofOtherKinds(f.Value) {
				w.below(p, f.Key, at)
			}
			continue
		}
		below := w.below(p, f.Key, at)
		if f.Value != nil && f.Value.Kind != source.Null {
			w.merges.unmergeable(below, f.Key.Pos, at)
		}
		inner.value(f.Value, below, at)
		if below != nil && p.is == fielded && w.partial == wholeValue && w.all.needs(p, f.Key.Value, below) {
			w.surelyThere(f.Value, at)
		}
	}
	if p != nil && w.partial == wholeValue {
		w.required(n, p, where)
	}
}

// ofOtherKinds reports whether the value of a field is never there: it is that of a field which only other kinds of the
// rule have.
func (w walker) ofOtherKinds(n *source.Node) bool {
	if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
		return false
	}
	t := w.expressions.checked(n.Parts[0].Expr)
	return t != nil && w.omissions.isOfOtherKinds(t, t.ast.Expr())
}

// surelyThere warns about a required field whose value may be absent.
func (w walker) surelyThere(n *source.Node, where string) {
	if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
		return
	}
	src := n.Parts[0].Expr
	if t := w.expressions.checked(src); t != nil && w.omissions.mayBeAbsent(t, t.ast.Expr(), 0) {
		w.reporter.warnf(lint.OptionalRequired, src.Pos, "%s: the field is required, and its value may be absent",
			where).Hint = "give it a default with orValue()"
	}
}

func joinPath(where, key string) string {
	if strings.ContainsAny(key, "./") {
		return fmt.Sprintf("%s[%q]", where, key)
	}
	return where + "." + key
}

// required complains about missing required fields.
func (w walker) required(n *source.Node, p *fieldSchema, where string) {
	if p.is != fielded || n.Lacking {
		return
	}
	var missing []string
	for key, s := range p.Properties {
		if !isGiven(n, key) && !(where == "" && givenAnyway[key]) && w.all.needs(p, key, w.all.at(&s, p)) {
			missing = append(missing, key)
		}
	}
	for _, key := range slices.Sorted(slices.Values(missing)) {
		w.reporter.errorf(n.Pos, "%s: missing required field '%s'", where, key)
	}
}

// isGiven reports whether a map has a field. Null leaves one out.
func isGiven(n *source.Node, key string) bool {
	f := n.At(key)
	return f != nil && f.Kind != source.Null
}

// givenAnyway are the fields of an object that the parser requires, or that
// templates do not have.
var givenAnyway = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "status": true}

func (w walker) elements(n *source.Node, p *fieldSchema, where string) {
	if p != nil && p.is != list && p.is != anything {
		w.scalars.wants(n.Pos, p, types.NewListType(types.DynType), where)
		p = nil
	}
	var items *fieldSchema
	if p != nil && p.is == list {
		items = w.all.items(p)
		w.count(n, p, where)
		w.merges.merged(p, w.merges.elementsOf(n), where)
	}
	if w.partial == statusFields {
		w.partial = wholeValue
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", where, i)
		if item.Kind == source.Null && !items.takesNull() {
			w.reporter.errorf(item.Pos, "%s: expected %s, got null", at, w.all.expected(items))
		}
		w.value(item, items, at)
		if mayVanish(item) {
			if t := w.expressions.checked(item.Parts[0].Expr); t != nil {
				w.nullElement(t, t.ast.Expr(), items, at)
			}
		}
	}
}

func (w walker) count(n *source.Node, p *fieldSchema, where string) {
	size := int64(len(n.Items))
	if p.MaxItems != nil && size > *p.MaxItems && !slices.ContainsFunc(n.Items, mayVanish) {
		w.reporter.errorf(n.Pos, "%s: has %d elements, at most %d are allowed", where, size, *p.MaxItems)
	}
	if p.MinItems != nil && size < *p.MinItems && !n.Lacking {
		w.reporter.errorf(n.Pos, "%s: has %d elements, at least %d are needed", where, size, *p.MinItems)
	}
}

// mayVanish reports whether an element may be absent at run time.
func mayVanish(n *source.Node) bool { return n.Kind == source.Interp && len(n.Parts) == 1 }
