package lint

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"reconcel/rules/source"
)

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
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	paths  = regexp.MustCompile(`[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*`)
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
