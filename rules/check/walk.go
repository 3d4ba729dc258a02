package check

import (
	"fmt"
	"maps"
	"reflect"
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

// A walker compares data with a schema.
type walker struct {
	*rule
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

// forgotten warns about text that looks like an expression.
func (r *rule) forgotten(n *source.Node, where string) {
	if n == nil || n.Kind != source.Text || r.said[finding{n.Pos, ""}] {
		return
	}
	if meant := source.Forgotten(n.Literal().Value, r.isObject); meant != "" {
		r.said[finding{n.Pos, ""}] = true // The data of a let is checked wherever it is used.
		r.warnf(lint.LiteralText, n.Pos, "%s: %q is literal text, not an expression", where, n.Literal().Value).Hint = "write " + meant
	}
}

// isObject reports whether a name is the id of a lookup or child.
func (r *rule) isObject(name string) bool { return r.objects[name] }

const (
	maxDepth  = 20      // how far lets are followed
	maxCopied = 200_000 // how many values in lets are compared with the fields that name the lets
)

// mayCopy counts a value in a let, and reports whether they are not too many: lets that
// use lets double it with each level.
func (c *checker) mayCopy() bool {
	c.copied++
	return c.copied <= maxCopied
}

func (w walker) interp(n *source.Node, p *fieldSchema, where string) {
	if len(n.Parts) > 1 && n.Padded() && p != nil && !w.fits(types.StringType, p) {
		w.mismatch(n.Pos, p, types.StringType, where).Hint = "a line break makes it a text: write |- or >-, or no blanks around ${...}"
		return
	}
	if len(n.Parts) > 1 {
		w.textParts(n, w.sc, where)
		if p != nil {
			w.wants(n.Pos, p, types.StringType, where)
		}
		return
	}
	src := n.Parts[0].Expr
	t := w.infer(src, w.sc, where)
	if n := w.copiedData(src); n != nil && w.depth < maxDepth {
		if w.misplaced(n, p) {
			w.errorf(src.Pos, "%s: the let %q has none of its fields", where, strings.TrimSpace(src.Text)).Hint = "it has " + strings.Join(slices.Sorted(maps.Keys(p.Properties)), ", ")
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

// copiedData returns the data of the let or definition that an expression names, or nil.
func (r *rule) copiedData(src *source.Expr) *source.Node {
	name := strings.TrimSpace(src.Text)
	if l := r.lets[name]; l != nil {
		return l.src.Data
	}
	return r.definitions.data[name]
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
	e := w.errorf(pos, text, where)
	e.Hint = w.Suggest(key, maps.Keys(p.Properties))
	first, _, _ := strings.Cut(key, ".")
	if _, known := p.Properties[first]; known && source.Nested(key) != "" {
		e.Hint = "write " + source.Nested(key)
	}
	e.Hint = w.orNew(e.Hint, p)
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
		below := w.below(p, f.Key, at)
		if f.Value != nil && f.Value.Kind != source.Null {
			w.unmergeable(below, f.Key.Pos, at)
		}
		inner.value(f.Value, below, at)
		if below != nil && p.is == fielded && w.partial == wholeValue && w.needs(p, f.Key.Value, below) {
			w.surelyThere(f.Value, at)
		}
	}
	if p != nil && w.partial == wholeValue {
		w.required(n, p, where)
	}
}

// surelyThere warns about a required field whose value may be absent.
func (w walker) surelyThere(n *source.Node, where string) {
	if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 {
		return
	}
	src := n.Parts[0].Expr
	if t := w.checked(src); t != nil && w.mayBeAbsent(t, t.ast.Expr(), 0) {
		w.warnf(lint.OptionalRequired, src.Pos, "%s: the field is required, and its value may be absent", where).Hint = "give it a default with orValue()"
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
		if !isGiven(n, key) && !(where == "" && givenAnyway[key]) && w.needs(p, key, w.all.at(&s, p)) {
			missing = append(missing, key)
		}
	}
	for _, key := range slices.Sorted(slices.Values(missing)) {
		w.errorf(n.Pos, "%s: missing required field '%s'", where, key)
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

// needs reports whether a field must be given. In the schemas of Kubernetes' own
// kinds, Go's zero values are defaults: such a struct is needed if one of its fields
// is.
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
