package lint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"reconcel/rules/source"
)

const (
	maxDepth  = 20        // how far lets are followed
	maxValues = 2_000_000 // how many values are visited, with the lets put in; the rest is unknown
)

// A value is a part of a template with the lets put in.
type value struct {
	r     *rule
	node  *source.Node // nil: it is absent, or unknown
	pos   source.Pos   // of the value; of what should contain it, if it is absent
	use   source.Pos   // of the expression that names the let, if the value is data of one
	where string       // the path to it, as messages show it
	// unknown: an expression decides what it is, and whether it is there.
	unknown bool
}

// value returns a node with the let put in that it names.
func (r *rule) value(n *source.Node, where string) value {
	v := value{r: r, node: n, where: where}
	if n == nil {
		return v
	}
	if r.values++; r.values > maxValues {
		return value{r: r, pos: n.Pos, where: where, unknown: true}
	}
	v.pos = n.Pos
	for range maxDepth {
		data := r.dataOf(v.node)
		if data == nil {
			break
		}
		v.node, v.use = data, n.Pos
	}
	v.pos = v.node.Pos
	v.unknown = v.node.Kind == source.Interp && len(v.node.Parts) == 1
	return v
}

// namedData matches the name of a let, and of data in it.
var namedData = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// dataOf returns the data of a let that a node consists of, or nil.
func (r *rule) dataOf(n *source.Node) *source.Node {
	if n.Kind != source.Interp || len(n.Parts) > 1 {
		return nil
	}
	name := strings.TrimSpace(n.Parts[0].Expr.Text)
	if !namedData.MatchString(name) {
		return nil
	}
	keys := strings.Split(name, ".")
	let := r.lets[keys[0]]
	if let == nil {
		return nil
	}
	return let.Data.At(keys[1:]...)
}

// at returns the value under the keys.
func (v value) at(keys ...string) value {
	for _, key := range keys {
		v = v.field(key)
	}
	return v
}

func (v value) field(key string) value {
	where := v.where + "." + key
	if strings.ContainsAny(key, "./") {
		where = fmt.Sprintf("%s[%q]", v.where, key)
	}
	out := value{r: v.r, pos: v.pos, use: v.use, where: where, unknown: v.unknown}
	if v.unknown || v.node == nil {
		return out
	}
	n := v.node.At(key)
	if n == nil {
		out.unknown = v.node.Lacking
		return out
	}
	out = v.r.value(n, where)
	if out.use.Line == 0 {
		out.use = v.use
	}
	return out
}

// absent reports whether the value is surely not there. Null leaves a field out.
func (v value) absent() bool {
	return !v.unknown && (v.node == nil || v.node.Kind == source.Null)
}

// isMap reports whether all keys of the map are known.
func (v value) isMap() bool {
	return !v.unknown && v.node != nil && v.node.Kind == source.Map && !v.node.Lacking
}

// isList reports whether the number of elements is known. The elements may be unknown.
func (v value) isList() bool {
	return !v.unknown && v.node != nil && v.node.Kind == source.List && !v.node.Lacking
}

// An entry is a field of a map.
type entry struct {
	key   source.String
	value value
}

// entries returns the fields of a map.
func (v value) entries() []entry {
	if !v.isMap() {
		return nil
	}
	out := make([]entry, len(v.node.Fields))
	for i, f := range v.node.Fields {
		out[i] = entry{f.Key, v.field(f.Key.Value)}
	}
	return out
}

// items returns the elements of a list.
func (v value) items() []value {
	if !v.isList() {
		return nil
	}
	out := make([]value, len(v.node.Items))
	for i, n := range v.node.Items {
		out[i] = v.r.value(n, fmt.Sprintf("%s[%d]", v.where, i))
		if out[i].use.Line == 0 {
			out[i].use = v.use
		}
	}
	return out
}

// complete reports whether a list is known with all of its elements; an absent list is.
func (v value) complete() bool {
	if v.absent() {
		return true
	}
	for _, item := range v.items() {
		if item.unknown {
			return false
		}
	}
	return v.isList()
}

// text returns a literal text.
func (v value) text() (string, bool) {
	key := v.key()
	return key, key != "" && !strings.Contains(key, "${")
}

// integer returns a literal integer.
func (v value) integer() (int64, bool) {
	if v.node == nil || v.unknown {
		return 0, false
	}
	i, ok := v.node.Value.(int64)
	return i, ok
}

// is reports whether a value is this literal.
func (v value) is(literal string) bool {
	s, ok := v.text()
	return ok && s == literal
}

// key returns the text of a value such that two values with the same key are equal, with
// expressions as ${...}. It is "" if the value is no text or number.
func (v value) key() string {
	if v.node == nil {
		return ""
	}
	switch v.node.Kind {
	case source.Text:
		return v.node.Literal().Value
	case source.Int:
		i, _ := v.integer()
		return strconv.FormatInt(i, 10)
	case source.Interp:
		return v.r.keyOf(v.node)
	}
	return ""
}
