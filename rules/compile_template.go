package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Limits on the number of values in the lets that are written into one template, and
// into all templates of a rule. Lets may use other lets, so the size can double with each
// level.
const (
	maxInlined       = 2000
	maxInlinedInRule = 50_000
)

// A builder compiles data to a template.
type builder struct {
	c       *expressions
	ops     []op
	run     []byte    // literal bytes that are not an operation yet
	omit    expr.Omit // the values that the kind does not store
	lenient bool      // omit a field instead of waiting for it
	texts   bool      // all values must be text
	inlined int
	under   string         // prefix of the path of metadata
	common  map[string]*op // labels and annotations of all objects, by field
	// ignored are the fields to omit, by path. ignoring are those that are already
	// compiled.
	ignored    map[string]*syntax.FieldPath
	ignoring   []ignoredField
	conditions map[*syntax.FieldPath]*expr.Program // of ignored
}

func (b *builder) template() *template {
	b.flush()
	return &template{b.ops}
}

func (b *builder) flush() {
	if len(b.run) > 0 {
		b.ops = append(b.ops, op{kind: opLiteral, lit: b.run})
		b.run = nil
	}
}

// emit appends an operation that is not a literal.
func (b *builder) emit(o op) {
	b.flush()
	b.ops = append(b.ops, o)
}

// appendNode appends one entry.
func (b *builder) appendNode(e entry, n *source.Node) {
	if p := b.isIgnored(e); p != nil {
		b.ignore(p, n, e)
		return
	}
	if n.Kind == source.Interp {
		b.appendInterp(e, n)
		return
	}
	if n.Kind == source.Null && len(e.lit) > 0 {
		return // A null value omits its entry.
	}
	if b.texts && n.Kind != source.Text {
		b.c.complain(n.Pos, "%s: must be text", e.where)
		return
	}
	switch n.Kind {
	case source.List:
		if b.lenient && !isLiteral(n) {
			b.appendGroup(e, n)
			return
		}
		b.appendContainer(e, n, "[]")
	case source.Map:
		b.appendContainer(e, n, "{}")
	default:
		value := b.literalJSON(n, e.where)
		if len(e.lit) > 0 && b.omit != nil && expr.Omitted(b.omit, e.key, value) {
			return
		}
		b.run = append(append(append(b.run, e.lit...), value...), ',')
	}
}

func (b *builder) literalJSON(n *source.Node, where string) []byte {
	switch v := n.Value.(type) {
	case bool:
		return strconv.AppendBool(nil, v)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case float64:
		out, err := (&expr.Appender{}).AppendNative(nil, v)
		if err != nil {
			b.c.complain(n.Pos, "%s: %v", where, err)
		}
		return out
	case string:
		return expr.AppendString(nil, v)
	}
	return []byte("null")
}

func (b *builder) appendInterp(e entry, n *source.Node) {
	if len(n.Parts) > 1 {
		b.emit(op{kind: opText, lit: e.lit, text: b.c.text(n, e.where), where: e.where, pos: n.Pos})
		return
	}
	src := n.Parts[0].Expr
	if l := b.inlinableLet(src); l != nil {
		b.appendNode(e, b.inlineLet(l, src))
		return
	}
	o := op{kind: opValue, lit: e.lit, key: e.key, where: e.where, pos: n.Pos, isText: b.texts}
	if len(e.lit) > 0 {
		o.omit = b.omit
	}
	o.prog = b.c.expression(src, expr.Any, e.where)
	b.emit(o)
}

// inlinableLet returns the let of an expression that is only its name, if the data of the
// let is written into the template. A status does not inline lets: a let that waits
// is omitted as a whole.
func (b *builder) inlinableLet(src *source.Expr) *let {
	l := b.c.lets[strings.TrimSpace(src.Text)]
	if l == nil || l.src.Data == nil || b.lenient || l.state == compiling || b.inlined+l.size > maxInlined ||
		b.c.inlined+l.size > maxInlinedInRule {
		return nil
	}
	return l
}

// inlineLet returns the data of a let to write in place of an expression.
func (b *builder) inlineLet(l *let, src *source.Expr) *source.Node {
	b.inlined += l.size
	b.c.inlined += l.size
	b.c.let(l, src.Pos)
	return l.src.Data
}

func nodeCount(n *source.Node) int {
	if n == nil {
		return 0
	}
	total := 1
	for _, item := range n.Items {
		total += nodeCount(item)
	}
	for _, f := range n.Fields {
		total += nodeCount(f.Value)
	}
	return total
}

// appendContainer appends a map or list.
func (b *builder) appendContainer(e entry, n *source.Node, brackets string) {
	marked := b.mayVanish(e, n)
	if marked {
		b.emit(op{kind: opMark})
	}
	b.run = append(append(b.run, e.lit...), brackets[0])
	ops, start := len(b.ops), len(b.run)
	if n.Kind == source.Map {
		b.appendFields(sortedFields(n), e.where)
	} else {
		for i, item := range n.Items {
			b.appendNode(entry{where: fmt.Sprintf("%s[%d]", e.where, i)}, item)
		}
	}
	if marked {
		b.emit(op{kind: opCloseMarked, lit: []byte{brackets[1]}})
		return
	}
	if len(b.ops) == ops && len(b.run) == start && len(e.lit) > 0 && b.omit != nil &&
		expr.Omitted(b.omit, e.key, []byte(brackets)) {
		b.run = b.run[:start-1-len(e.lit)]
		return
	}
	b.close(brackets[1])
}

// close ends a map or list, at compile time if its last entry is literal.
func (b *builder) close(bracket byte) {
	if len(b.run) == 0 {
		b.emit(op{kind: opClose, lit: []byte{bracket}})
		return
	}
	b.run = append(expr.Close(b.run, bracket), ',')
}

func (b *builder) appendFields(fields []source.Field, where string) {
	for _, f := range fields {
		b.appendNode(keyedEntry(f.Key.Value, expr.Join(where, f.Key.Value)), f.Value)
	}
}

// appendGroup appends a list of a status, which is written as a whole or omitted.
func (b *builder) appendGroup(e entry, n *source.Node) {
	inner := &builder{c: b.c, omit: b.omit}
	inner.appendNode(e, n)
	b.emit(op{kind: opGroup, ops: inner.template().ops, where: e.where, pos: n.Pos})
}

// mayVanish reports whether an entry may turn out to be empty in a rendering, and
// is omitted then.
func (b *builder) mayVanish(e entry, n *source.Node) bool {
	if len(e.lit) == 0 || b.omit == nil || isLiteral(n) && !b.ignorableBelow(e.where) || b.alwaysPresent(n, e.where) {
		return false
	}
	if n.Kind == source.Map {
		return b.omit(e.key, expr.EmptyMap)
	}
	return b.omit(e.key, expr.EmptyList)
}

// alwaysPresent reports whether a map or list has an entry that is never omitted.
func (b *builder) alwaysPresent(n *source.Node, where string) bool {
	for _, item := range n.Items {
		if item.Kind != source.Interp || len(item.Parts) > 1 {
			return true
		}
	}
	for _, f := range n.Fields {
		at := expr.Join(where, f.Key.Value)
		if p := b.ignored[at]; p != nil && p.When != nil {
			continue
		}
		switch f.Value.Kind {
		case source.Bool, source.Int, source.Float, source.Text:
			return true
		case source.Interp:
			if len(f.Value.Parts) > 1 {
				return true
			}
		case source.Map:
			if b.alwaysPresent(f.Value, at) || !b.omit(f.Key.Value, expr.EmptyMap) {
				return true
			}
		case source.List:
			if b.alwaysPresent(f.Value, at) || !b.omit(f.Key.Value, expr.EmptyList) {
				return true
			}
		}
	}
	return false
}

func sortedFields(n *source.Node) []source.Field {
	return slices.SortedFunc(slices.Values(n.Fields), func(a, b source.Field) int {
		return strings.Compare(a.Key.Value, b.Key.Value)
	})
}

// quoteJSON returns s as JSON.
func quoteJSON(s string) string {
	out, _ := json.Marshal(s) // Strings always marshal.
	return string(out)
}

// A template is data compiled to a list of operations, each of which appends JSON.
// Everything literal is written at compile time: adjacent literals are one
// operation, and maps are sorted.
//
// Each entry of a map or list ends with a comma, which the closing bracket
// overwrites. So an entry can be omitted or removed without a change to its
// neighbours.
type template struct{ ops []op }

type opKind int

const (
	opLiteral     opKind = iota // lit
	opValue                     // lit, the value of prog
	opText                      // lit, text in quotes
	opClose                     // closes a map or list with lit[0]
	opMark                      // marks the beginning of an entry that may be empty
	opCloseMarked               // closes it, and removes it if it is empty
	opGroup                     // ops, or nothing if one of them waits
	opName                      // lit, the child's name
	opNamespace                 // lit, the child's namespace
	opOwner                     // lit, the owner reference
	opOwnerUID                  // the annotation that replaces an owner reference
	opMarks                     // labels or annotations: ops are maps of them, later ones take precedence
	opMetadata                  // evaluates metadata, for the operations without prog
	opSecret                    // a Secret's data that contains expressions
	opIgnorable                 // lit, ops, unless the field is ignored
)

type op struct {
	kind   opKind
	lit    []byte        // precedes the value: a key and its colon, or nothing
	prog   *expr.Program // nil of opValue: the value is the field key of opMetadata
	text   *text
	ops    []op
	key    string // of the entry
	index  int    // of an ignorable field
	omit   expr.Omit
	isText bool   // the value must be text
	where  string // field, for messages
	pos    source.Pos
	secret *secret
}

// An entryBytes is a literal entry of a map.
type entryBytes struct{ key, value string }

// A secret is the data of a Secret. The API server turns stringData into data
// and does not store it, so the rendering does the same.
type secret struct{ data, plain *data }

// An entry is the position of a value: under a key, or in a list, if lit is empty.
type entry struct {
	key   string
	lit   []byte // `"key":`
	where string
}

func keyedEntry(key, where string) entry {
	return entry{key: key, lit: append(expr.AppendString(nil, key), ':'), where: where}
}
