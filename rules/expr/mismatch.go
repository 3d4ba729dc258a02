package expr

import (
	"slices"
	"strings"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// CEL does not say which types a function got that does not take them. So a call that fails for that
// reason says it in the words of errors that are found when rules load.

// A mismatchedCall explains the failure of a call, or makes it with other types of numbers.
type mismatchedCall struct {
	interpreter.InterpretableCall
	of ast.CallExpr
	// guarded makes the call for arguments that are evaluated. It is nil if no implementation is known.
	guarded *guardedCall
}

func (c *mismatchedCall) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	if c.guarded == nil {
		v := c.InterpretableCall.Exec(frame)
		if !isMismatch(v, c.ID()) {
			return v
		}
		values, failed := argumentsOf(frame, c.Args())
		if failed != nil {
			return failed
		}
		return explainMismatch(v, c.ID(), c.of, values)
	}
	var a operands
	if missing := c.guarded.evaluate(frame, &a); missing != nil {
		return missing
	}
	v := c.guarded.call(frame, a)
	if !isErrorOf(v, c.ID()) {
		return v
	}
	mismatch := isMismatch(v, c.ID())
	if !mismatch && !takesOneType[c.of.FunctionName()] {
		return v
	}
	values := a[:len(c.guarded.args)]
	if v := withDoubles(c.of.FunctionName(), values); v != nil {
		return types.LabelErrNode(c.ID(), v)
	}
	if wholes := withWholes(c.of.FunctionName(), values); wholes != nil {
		var again operands
		copy(again[:], wholes)
		if v := c.guarded.call(frame, again); !isMismatch(v, c.ID()) {
			return v
		}
	}
	if !mismatch {
		return v
	}
	return explainMismatch(v, c.ID(), c.of, values)
}

// Eval is Exec for callers of CEL's older interface.
func (c *mismatchedCall) Eval(vars interpreter.Activation) ref.Val {
	return c.Exec(interpreter.AsFrame(vars))
}

// isMismatch reports whether a value is the error of this node about the types of its arguments. That of init has no
// node.
func isMismatch(v ref.Val, node int64) bool {
	return isErrorOf(v, node) && strings.HasPrefix(v.(*types.Err).String(), "no such overload")
}

// isErrorOf reports whether a value is the error of this node.
func isErrorOf(v ref.Val, node int64) bool {
	err, failed := v.(*types.Err)
	return failed && (err.NodeID() == node || err.NodeID() == -1)
}

// argumentsOf evaluates the arguments of a call again. failed is the error of one of them, which is the reason.
func argumentsOf(frame *interpreter.ExecutionFrame,
	args []interpreter.InterpretableV2) (values []ref.Val, failed ref.Val) {
	for _, arg := range args {
		value := arg.Exec(frame)
		if types.IsError(value) {
			return nil, value
		}
		values = append(values, value)
	}
	return values, nil
}

func explainMismatch(v ref.Val, node int64, of ast.CallExpr, values []ref.Val) ref.Val {
	var got []string
	for _, value := range values {
		name := typeName(value)
		if readsExtent(of.FunctionName()) { // A cache may have other elements than the cluster.
			name, _, _ = strings.Cut(name, " of ")
		}
		got = append(got, name)
	}
	s := signature{args: got}
	if of.IsMemberFunction() && len(got) > 0 {
		s = signature{target: got[0], args: got[1:]}
	}
	if len(got) == 0 {
		return v
	}
	var i Issue
	explainCall(&i, of.FunctionName(), s)
	if i.Hint != "" {
		i.Message += " (" + i.Hint + ")"
	}
	return types.LabelErrNode(node, failf("%s", i.Message))
}

// typeName returns the type of a value in the words of TypeName.
func typeName(v ref.Val) string {
	if o, ok := v.(*types.Optional); ok {
		if !o.HasValue() {
			return "optional any"
		}
		return "optional " + typeName(o.GetValue())
	}
	if l, ok := v.(traits.Lister); ok {
		return "list" + elementTypes(l)
	}
	r := typeReader{rest: v.Type().TypeName()}
	return r.next()
}

// mostElementTypes is how many types of elements a message names.
const mostElementTypes = 3

// elementTypes returns the types of the elements of a list, such as " of string".
func elementTypes(l traits.Lister) string {
	var names []string
	for it := l.Iterator(); it.HasNext() == types.True && len(names) < mostElementTypes; {
		if name := typeName(it.Next()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return " of " + strings.Join(names, " and ")
}

// mismatch wraps a call that may get types that it does not take.
func (a *analyzer) mismatch(env *environment, node interpreter.InterpretableV2) interpreter.InterpretableV2 {
	call, ok := node.(interpreter.InterpretableCall)
	of := a.calls[node.ID()]
	if !ok || of == nil || len(call.Args()) == 0 {
		return node
	}
	guarded, ok := node.(*guardedCall)
	if !ok && len(call.Args()) <= len(operands{}) {
		if run := env.runner(call); run != nil {
			guarded = &guardedCall{InterpretableCall: call, args: call.Args(), run: run}
		}
	}
	return &mismatchedCall{call, of, guarded}
}

// TypeName returns a type as messages show it.
func TypeName(t *types.Type) string {
	r := typeReader{rest: checker.FormatCELType(t)}
	return r.next()
}

// plainTypes are the names of CEL's types in messages. Any other type with parts is
// that of an object.
var plainTypes = map[string]string{
	"int": "integer", "uint": "unsigned integer", "double": "number", "bool": "boolean", "string": "string",
	"bytes": "bytes", "type": "type",
	"dyn": "any", "any": "any", "error": "any", "null_type": "null", "null": "null",
	"google.protobuf.Timestamp": "timestamp", "timestamp": "timestamp", "google.protobuf.Duration": "duration",
	"duration": "duration",
}

// IsSpecial reports whether no object can hold values of a type of a library, such as a
// quantity or an address.
func IsSpecial(t *types.Type) bool { return isSpecial(t.TypeName()) }

func isSpecial(name string) bool {
	return strings.HasPrefix(name, "kubernetes.") || strings.HasPrefix(name, "net.")
}

// A typeReader reads types as CEL prints them: list(map(string, dyn)).
type typeReader struct{ rest string }

// next reads a type and returns it in plain words.
func (r *typeReader) next() string {
	i := strings.IndexAny(r.rest, "(),")
	if i < 0 {
		i = len(r.rest)
	}
	name := strings.TrimSpace(r.rest[:i])
	r.rest = r.rest[i:]
	parts := r.parts()
	last := "any"
	if len(parts) > 0 {
		last = parts[len(parts)-1]
	}
	switch {
	case name == "optional_type":
		return "optional " + last
	case name == "wrapper":
		return last // or null
	case (name == "list" || name == "map") && last != "any":
		return name + " of " + last
	case name == "list" || name == "map" || name == "type":
		return name
	case plainTypes[name] != "":
		return plainTypes[name]
	case strings.HasPrefix(name, "<") || strings.HasPrefix(name, "_var"):
		return "any" // A parameter of a type.
	case isSpecial(name):
		return strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	}
	return "map"
}

// parts reads types in parentheses, if there are any.
func (r *typeReader) parts() []string {
	rest, ok := strings.CutPrefix(r.rest, "(")
	if !ok {
		return nil
	}
	r.rest = rest
	var out []string
	for r.rest != "" {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(r.rest, ", "), ")"); ok {
			r.rest = rest
			break
		}
		r.rest = strings.TrimLeft(r.rest, ", ")
		out = append(out, r.next())
	}
	return out
}

// A signature is what a function was called with.
type signature struct {
	target string // of a method, or ""
	args   []string
}

// readSignature reads the arguments as CEL prints them: (int, string), or target.(int).
func readSignature(s string) signature {
	r := typeReader{rest: s}
	if strings.HasPrefix(s, "(") {
		return signature{args: r.parts()}
	}
	target := ""
	// A name may have dots. The last one before the arguments is the call.
	if i := strings.LastIndex(s, ".("); i >= 0 {
		t := typeReader{rest: s[:i]}
		target = t.next()
		r.rest = s[i+1:]
	}
	return signature{target: target, args: r.parts()}
}
