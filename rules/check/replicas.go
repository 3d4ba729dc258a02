package check

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// scaled are the kinds whose spec.replicas the API server sets to 1 when it is
// removed.
var scaled = []runtimeschema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "ReplicaSet"}, {Group: "apps", Kind: "StatefulSet"}}

// replicas warns about spec.replicas that may be absent. A rule that leaves it out
// for an autoscaler scales the workload down to one Pod.
func (r *rule) replicas(ch *syntax.Child) {
	n := ch.Template.At("spec", "replicas")
	if n == nil || n.Kind != source.Interp || len(n.Parts) > 1 || !slices.Contains(scaled, gvkOf(ch.Template).GroupKind()) {
		return
	}
	for _, p := range ch.IgnoreFields {
		if p.Keys[0] == "spec" && (len(p.Keys) == 1 || p.Keys[1] == "replicas") {
			return
		}
	}
	src := n.Parts[0].Expr
	if t := r.checked(src); t != nil && r.mayBeAbsent(t, t.ast.Expr(), 0) {
		r.warnf(lint.AbsentField, src.Pos, "template.spec.replicas may be absent: the API server then sets it to 1").Hint =
			"to leave it to an autoscaler, add it to ignoreFields with a when"
	}
}

// mayBeAbsent reports whether an expression may give an absent optional, or null.
func (r *rule) mayBeAbsent(t *typed, e ast.Expr, depth int) bool {
	if depth > maxDepth {
		return false
	}
	if l := r.letOf(t, e); l != nil && l.src.Expr != nil {
		own := r.checked(l.src.Expr)
		return own != nil && r.mayBeAbsent(own, own.ast.Expr(), depth+1)
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return e.AsLiteral() == types.NullValue
	case ast.CallKind:
		c := e.AsCall()
		args := c.Args()
		switch c.FunctionName() {
		case operators.Conditional:
			return r.mayBeAbsent(t, args[1], depth+1) || r.mayBeAbsent(t, args[2], depth+1)
		case "dyn":
			return r.mayBeAbsent(t, args[0], depth+1)
		case "optional.of":
			return false
		case operators.OptSelect:
			return r.stepMayBeAbsent(t, args, depth)
		}
	}
	_, optional := unwrapped(t.ast.GetType(e.ID()))
	return optional
}

// stepMayBeAbsent is mayBeAbsent for a selection with .?, which always finds a
// field that the schema requires or defaults.
func (r *rule) stepMayBeAbsent(t *typed, args []ast.Expr, depth int) bool {
	from, optional := unwrapped(t.ast.GetType(args[0].ID()))
	key, literal := literalString(args[1])
	o := r.all.object(from)
	if !literal || o == nil || o.optional(key) {
		return true
	}
	return optional && r.mayBeAbsent(t, args[0], depth+1)
}
