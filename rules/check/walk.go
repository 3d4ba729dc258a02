package check

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

// A completeness says whether a value must have all that its schema requires.
type completeness int

const (
	wholeValue   completeness = iota
	statusFields              // the fields of status come one by one; what is in them is whole
	partOfObject              // it is merged into something
)

// A walker holds data against a schema.
type walker struct {
	*rule
	sc      *scope
	partial completeness
	depth   int
}

// object checks the template of an object.
func (w walker) object(n *source.Node, p *fieldSchema) {
	for _, f := range n.Fields {
		at := joinPath("", f.Key.Value)
		w.value(f.Value, w.below(p, f.Key, at), at)
	}
	if p != nil {
		w.required(n, p, "")
	}
}

// value checks what stands at a place, of which nothing is known if it is nil.
func (w walker) value(n *source.Node, p *fieldSchema, where string) {
	if n == nil {
		return // The parser has said why.
	}
	if p != nil && p.Schema == nil {
		p = nil
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
		if p == nil || w.scalar(n, p, where) {
			w.forgotten(n, where)
		}
	}
}

// forgotten warns about text that must have been meant as an expression.
func (r *rule) forgotten(n *source.Node, where string) {
	if n == nil || n.Kind != source.Text || r.said[finding{n.Pos, ""}] {
		return
	}
	if meant := source.Forgotten(literalOf(n).Value, r.objects()...); meant != "" {
		r.said[finding{n.Pos, ""}] = true // Data of let is looked at wherever it is used.
		r.warnf(n.Pos, "%s: %q is literal text, not an expression", where, literalOf(n).Value).Hint = "write " + meant
	}
}

// objects returns the names of the rule's lookups and children.
func (r *rule) objects() []string {
	var out []string
	for _, l := range r.src.Lookups {
		out = append(out, l.ID.Value)
	}
	for _, ch := range r.entries() {
		out = append(out, ch.ID.Value)
	}
	return out
}

// maxDepth bounds how far lets are followed that contain each other.
const maxDepth = 20

func (w walker) interp(n *source.Node, p *fieldSchema, where string) {
	if len(n.Parts) > 1 {
		w.textParts(n, w.sc, where)
		if p != nil {
			w.wants(n.Pos, p, types.StringType, where)
		}
		return
	}
	src := n.Parts[0].Expr
	t := w.infer(src, w.sc, where)
	if l := w.lets[strings.TrimSpace(src.Text)]; l != nil && l.src.Data != nil && w.depth < maxDepth {
		w.depth++
		w.value(l.src.Data, p, where) // It is written into the template as it stands.
		return
	}
	if p != nil && t.ast != nil {
		w.expression(t, t.ast.Expr(), p, where)
	}
}

// below returns the place of a field, and complains if there is none.
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
	e := w.errorf(pos, text, where)
	e.Hint = didYouMean(key, slices.Collect(maps.Keys(p.Properties)))
	first, _, _ := strings.Cut(key, ".")
	if _, known := p.Properties[first]; known && source.Nested(key) != "" {
		e.Hint = "write " + source.Nested(key)
	}
}

func (w walker) fields(n *source.Node, p *fieldSchema, where string) {
	if p != nil && p.is != mapping && p.is != fielded && p.is != anything {
		w.wants(n.Pos, p, types.NewMapType(types.StringType, types.DynType), where)
		p = nil
	}
	for _, f := range n.Fields {
		at := joinPath(where, f.Key.Value)
		inner := w
		if w.partial == statusFields {
			inner.partial = wholeValue
		}
		inner.value(f.Value, w.below(p, f.Key, at), at)
	}
	if p != nil && w.partial == wholeValue {
		w.required(n, p, where)
	}
}

// joinPath appends a key to a path.
func joinPath(where, key string) string {
	if strings.ContainsAny(key, "./") {
		return fmt.Sprintf("%s[%q]", where, key)
	}
	return where + "." + key
}

// required complains about fields that must be there.
func (w walker) required(n *source.Node, p *fieldSchema, where string) {
	if p.is != fielded || n.Lacking {
		return
	}
	var missing []string
	for key, s := range p.Properties {
		if !isGiven(n, key) && !(where == "" && givenAnyway[key]) && w.needs(p, key, w.all.at(&s, p)) {
			missing = append(missing, key)
		}
	}
	for _, key := range slices.Sorted(slices.Values(missing)) {
		w.errorf(n.Pos, "%s: missing required field '%s'", where, key)
	}
}

// isGiven reports whether a map has an entry: null leaves one out.
func isGiven(n *source.Node, key string) bool {
	f := fieldNode(n, key)
	return f != nil && f.Kind != source.Null
}

// givenAnyway are the fields of a whole object that the parser requires, or
// that are not for templates.
var givenAnyway = map[string]bool{"apiVersion": true, "kind": true, "metadata": true, "status": true}

// needs reports whether a field must be given. The schemas of Kubernetes' own
// kinds call Go's zero values defaults; a struct is then needed if something in
// it is.
func (w walker) needs(p *fieldSchema, key string, f *fieldSchema) bool {
	required := slices.Contains(p.Required, key)
	s := p.Properties[key]
	switch {
	case s.Default == nil:
		return required && !(p.own && mayBeZero(p.name, key))
	case !p.own || !isZero(s.Default):
		return false
	case required && (f.is == boolean || mayBeZero(p.name, key)):
		return false
	case required:
		return true
	}
	return f.is == fielded && p.own && key != "status" && w.hasNeeds(f)
}

func (w walker) hasNeeds(p *fieldSchema) bool {
	for key, s := range p.Properties {
		if w.needs(p, key, w.all.at(&s, p)) {
			return true
		}
	}
	return false
}

func isZero(v any) bool {
	if m, ok := v.(map[string]any); ok {
		return len(m) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

func (w walker) elements(n *source.Node, p *fieldSchema, where string) {
	if p != nil && p.is != list && p.is != anything {
		w.wants(n.Pos, p, types.NewListType(types.DynType), where)
		p = nil
	}
	var items *fieldSchema
	if p != nil && p.is == list {
		items = w.all.items(p)
		w.count(n, p, where)
	}
	if w.partial == statusFields {
		w.partial = wholeValue
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", where, i)
		if item.Kind == source.Null && items != nil && !w.fitsWithin(types.NullType, items, 1) {
			w.errorf(item.Pos, "%s: expected %s, got null", at, w.expected(items))
		}
		w.value(item, items, at)
	}
}

// count checks how many elements a list has, if that is known.
func (w walker) count(n *source.Node, p *fieldSchema, where string) {
	size := int64(len(n.Items))
	if p.MaxItems != nil && size > *p.MaxItems && !slices.ContainsFunc(n.Items, mayVanish) {
		w.errorf(n.Pos, "%s: has %d elements, at most %d are allowed", where, size, *p.MaxItems)
	}
	if p.MinItems != nil && size < *p.MinItems && !n.Lacking {
		w.errorf(n.Pos, "%s: has %d elements, at least %d are needed", where, size, *p.MinItems)
	}
}

// mayVanish reports whether an element may be absent when it is computed.
func mayVanish(n *source.Node) bool { return n.Kind == source.Interp && len(n.Parts) == 1 }

// text checks a value that must be text, whatever is in it.
func (r *rule) text(n *source.Node, sc *scope, where string) {
	if n == nil || n.Kind != source.Interp {
		r.forgotten(n, where)
		return
	}
	if len(n.Parts) > 1 {
		r.textParts(n, sc, where)
		return
	}
	t := r.infer(n.Parts[0].Expr, sc, where)
	inner, _ := unwrapped(t.t)
	if k := inner.Kind(); k != types.DynKind && k != types.StringKind {
		r.errorf(n.Parts[0].Expr.Pos, "%s: must be text, got %s", where, typeName(inner)).Hint = asTextHint(inner)
	}
}

// textParts checks the expressions among text.
func (r *rule) textParts(n *source.Node, sc *scope, where string) {
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		t := r.infer(p.Expr, sc, where)
		inner, _ := unwrapped(t.t)
		switch inner.Kind() {
		case types.ListKind, types.MapKind, types.StructKind, types.NullTypeKind, types.BytesKind, types.TypeKind, types.OpaqueKind:
			r.errorf(p.Expr.Pos, "%s: %s cannot be part of text", where, withArticle(typeName(inner)))
		}
	}
}

// withArticle puts one before a type that can be counted.
func withArticle(name string) string {
	if name == "null" {
		return name
	}
	return "a " + name
}

// asText says how to make text of a value.
func asTextHint(t *types.Type) string {
	switch t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.BoolKind:
		return "write string(...)"
	}
	return ""
}
