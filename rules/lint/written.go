package lint

import (
	"fmt"
	"iter"
	"regexp"
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
	w.check(r.src.CommonMetadata, "commonMetadata")
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

// omittedZeros are the fields of a status that Kubernetes leaves out while they are 0, by
// kind: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/.
var omittedZeros = map[string][]string{
	"Deployment":  {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"},
	"ReplicaSet":  {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
	"StatefulSet": {"readyReplicas", "currentReplicas", "updatedReplicas"},
	"DaemonSet":   {"updatedNumberScheduled", "numberAvailable", "numberUnavailable"},
	"Job":         {"active", "succeeded", "failed"},
}

var statusField = regexp.MustCompile(`\b([A-Za-z_]\w*)\.status\.([A-Za-z_]\w*)`)

// zeros finds expressions that read a count which Kubernetes leaves out while it is 0:
// conditions and whens are never false because of it, and fields of status disappear. A
// field of status that is the count itself is left out as Kubernetes leaves it out.
func (r *rule) zeros() {
	z := zeroReader{rule: r, kinds: map[string]string{}, followed: map[*source.Expr]bool{}}
	for _, c := range r.children {
		if group := c.gk.Group; c.single() && (group == "apps" || group == "batch") {
			z.kinds[c.ID.Value] = c.gk.Kind
		}
	}
	for _, c := range r.children {
		z.read(c.When, c.Entry+": when", "")
	}
	for _, c := range r.src.Conditions {
		z.read(c.When, c.Entry+": when", "")
	}
	z.readStatus(r.src.Status, "status")
}

// A zeroReader finds what expressions read, directly or through lets.
type zeroReader struct {
	*rule
	kinds    map[string]string // of the children with such a status, by id
	followed map[*source.Expr]bool
}

// read checks an expression, and the lets that it reads. Before are the expressions
// through which it is read: they may guard it.
func (z *zeroReader) read(e *source.Expr, where, before string) {
	if e == nil || z.followed[e] {
		return
	}
	z.followed[e] = true
	text := quoted.ReplaceAllString(e.Text, `""`)
	guards := before + " " + text
	for _, m := range statusField.FindAllStringSubmatch(text, -1) {
		kind, guarded := z.kinds[m[1]], strings.Contains(guards, "has("+m[0]+")")
		if kind == "" || guarded || !slices.Contains(omittedZeros[kind], m[2]) {
			continue
		}
		z.find(ZeroStatus, e.Pos, "%s: a %s has no status.%s while it is 0, and the expression waits for it", where, kind,
			m[2]).Hint =
			fmt.Sprintf("write %s.status.?%s.orValue(0)", m[1], m[2])
	}
	for _, name := range paths.FindAllString(text, -1) {
		let, fields, _ := strings.Cut(name, ".")
		for e := range z.expressionsOf(let, fields) {
			z.read(e, "let."+let, guards)
		}
	}
}

// readStatus checks a field of status.
func (z *zeroReader) readStatus(n *source.Node, where string) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		z.readStatus(f.Value, where+"."+f.Key.Value)
	}
	for _, item := range n.Items {
		z.readStatus(item, where)
	}
	for _, p := range n.Parts {
		if p.Expr != nil && (len(n.Parts) > 1 || !copied.MatchString(p.Expr.Text)) {
			z.read(p.Expr, where, "")
		}
	}
}

// copied matches an expression that only reads something.
var copied = regexp.MustCompile(`^\s*[\w.]+\s*$`)

var (
	quoted      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	identifiers = regexp.MustCompile(`[A-Za-z_]\w*`)
	paths       = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*`)
)

// expressionsOf returns the expressions of a let, or of a field of its data.
func (r *rule) expressionsOf(name, fields string) iter.Seq[*source.Expr] {
	let := r.lets[name]
	switch {
	case let == nil:
		return func(func(*source.Expr) bool) {}
	case let.Expr != nil:
		return func(yield func(*source.Expr) bool) { yield(let.Expr) }
	case fields == "":
		return let.Data.Expressions()
	}
	return let.Data.At(strings.Split(fields, ".")...).Expressions()
}
