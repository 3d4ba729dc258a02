package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reconcel/rules/source"
)

// writtenValues checks how single values of the rule are written.
func (r *rule) writtenValues() {
	w := writing{rule: r}
	for _, let := range r.src.Let {
		w.check(let.Data, "let."+let.Name.Value)
	}
	for _, c := range r.children {
		w.names, w.plain = iteratorsOf(c.Child), c.known() &&
			c.gk != kindIn("apiextensions.k8s.io", "CustomResourceDefinition")
		w.check(c.Template, c.Entry+": template")
	}
	w.names, w.plain = nil, false
	w.check(r.src.Patch, "patch")
	w.check(r.src.Status, "status")
}

// blocks are fields whose texts often end in a line break on purpose.
var blocks = []string{"data", "stringData", "annotations", "command", "args"}

// A writing checks how values are written.
type writing struct {
	*rule
	names  map[string]bool // of forEach
	script bool            // within one of blocks
	plain  bool            // no program reads expressions of its own in the text
}

// read are fields of Kubernetes' kinds that a program or a person reads, and that may hold
// expressions of another tool.
var read = []string{"data", "stringData", "annotations", "command", "args", "env", "subPathExpr", "parameters",
	"description", "message", "messageExpression", "expression"}

// check checks a value and all values in it.
func (w writing) check(n *source.Node, where string) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		at := where + "." + f.Key.Value
		if isEmpty(f.Value) {
			w.find(EmptyValue, f.Key.Pos, "%s: has no value, so the field is left out", at).Hint = emptyHint(f.Key.Value)
		}
		inner := w
		inner.script = w.script || slices.Contains(blocks, f.Key.Value)
		inner.plain = w.plain && !slices.Contains(read, f.Key.Value)
		inner.check(f.Value, at)
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", where, i)
		if isEmpty(item) {
			w.find(EmptyValue, item.Pos, "%s: has no value", at).Hint = "remove it, or write null"
		}
		w.check(item, at)
	}
	if n.Padded() && !w.script && strings.ContainsAny(n.Parts[len(n.Parts)-1].Text, "\r\n") {
		w.find(BlockText, n.Pos, "%s: the text ends in a line break", where).Hint = "write |- or >-"
	}
	if n.Kind == source.Text || n.Kind == source.Interp {
		w.forgotten(n, where)
	}
	w.numbers(n, where)
}

// isEmpty reports whether nothing is written where a value belongs.
func isEmpty(n *source.Node) bool { return n != nil && n.Kind == source.Null && n.Written == "" }

// emptyHint explains a key without a value. In braces, "a:b" is a key.
func emptyHint(key string) string {
	if name, value, found := strings.Cut(key, ":"); found && name != "" && value != "" {
		return fmt.Sprintf("write %s: %s", name, value)
	}
	return "write null to leave it out"
}

// numbers finds numbers of lets whose text is not what is written.
func (r *rule) numbers(n *source.Node, where string) {
	if n.Kind != source.Interp || len(n.Parts) < 2 {
		return
	}
	for _, p := range n.Parts {
		if p.Expr == nil {
			continue
		}
		number := r.dataOf(&source.Node{Kind: source.Interp, Parts: []source.Part{p}})
		if number == nil || number.Written == "" {
			continue
		}
		if text := numberText(number); text != "" && text != number.Written {
			r.find(NumberText, number.Pos, "%s is the number %s where %s makes a text of it", number.Written, text, where).Hint =
				fmt.Sprintf("write %q", number.Written)
		}
	}
}

// numberText returns a number as it becomes part of a text, or "" for other values.
func numberText(n *source.Node) string {
	switch v := n.Value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
