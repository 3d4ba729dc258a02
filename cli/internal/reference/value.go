package reference

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// A value is a part of a sentence that an expression stands for.
type value struct {
	text   Text
	absent ast.Expr // the literal that takes its place while it is not set, or nil
	size   bool     // it is a number of elements or characters
}

// value puts a value into words.
func (p *phrasing) value(e ast.Expr) (value, bool) {
	if e.Kind() == ast.LiteralKind {
		return value{text: code(literal(literalOf(e)))}, literalOf(e) != nil
	}
	if root, path, ok := pathOf(e); ok {
		return p.field(root, path)
	}
	if e.Kind() != ast.CallKind {
		return value{}, false
	}
	call := e.AsCall()
	args := call.Args()
	switch name := call.FunctionName(); {
	case name == "orValue" && call.IsMemberFunction():
		v, ok := p.value(call.Target())
		v.absent = args[0]
		return v, ok && isLiteral(args[0])
	case (name == "timestamp" || name == "string" || name == "duration") && len(args) == 1:
		return p.value(args[0])
	case name == "size" && len(args) == 1:
		v, ok := p.value(args[0])
		v.size = true
		return v, ok && v.absent == nil
	case (name == "annotation" || name == "label") && len(args) == 2:
		v, ok := p.value(args[0])
		key, isText := literalOf(args[1]).(string)
		return value{text: compose("the "+name+" ", code(key), " of ", v.text)}, ok && isText
	}
	return value{}, false
}

// field names a field of the resource, of the child itself, of another object, or of an
// element of forEach.
func (p *phrasing) field(root, path string) (value, bool) {
	object, known := p.objects[root]
	switch {
	case root == "self" && path == "" && p.at == "":
		return value{text: p.self}, p.self != nil
	case root == "self":
		return value{text: code(strings.Trim(p.at+"."+path, "."))}, path != "" || p.rule == nil
	case root == "oldSelf":
		return value{text: compose("the previous ", code(strings.Trim(p.at+"."+path, ".")))}, true
	case root == "child" && path == "":
		return value{text: compose("the object")}, true
	case root == "child":
		return value{text: compose("its ", code(path))}, true
	case known && path == "":
		return value{text: object}, true
	case known:
		return value{text: compose(code(path), " of ", object)}, true
	}
	return value{text: code(strings.TrimPrefix(root+"."+path, "."))}, p.iterates(root)
}

// iterates reports whether a name is that of an element of some forEach.
func (p *phrasing) iterates(name string) bool {
	if p.rule == nil {
		return false
	}
	for _, c := range p.rule.Children {
		for _, i := range c.ForEach {
			if name == i.Name.Value || name == i.Index.Value {
				return true
			}
		}
	}
	for _, c := range p.rule.Conditions {
		for _, i := range c.ForEach {
			if name == i.Name.Value || name == i.Index.Value {
				return true
			}
		}
	}
	return false
}

// pathOf returns the variable that an expression reads, and the path of the field.
func pathOf(e ast.Expr) (root, path string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent(), "", true
	case ast.SelectKind:
		s := e.AsSelect()
		root, path, ok = pathOf(s.Operand())
		return root, join(path, s.FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		name := call.FunctionName()
		if name != operators.OptSelect && name != operators.Index && name != operators.OptIndex {
			return "", "", false
		}
		root, path, ok = pathOf(call.Args()[0])
		switch key := literalOf(call.Args()[1]).(type) {
		case string:
			return root, join(path, key), ok
		case int64:
			return root, path + "[" + literal(key) + "]", ok
		}
	}
	return "", "", false
}

func isLiteral(e ast.Expr) bool {
	return literalOf(e) != nil || e.Kind() == ast.ListKind && e.AsList().Size() == 0 || e.Kind() == ast.MapKind && e.AsMap().Size() == 0
}

// literalOf returns the value of a literal, or nil.
func literalOf(e ast.Expr) any {
	if e == nil || e.Kind() != ast.LiteralKind {
		return nil
	}
	switch v := e.AsLiteral().(type) {
	case types.String, types.Bool, types.Int, types.Double:
		return v.Value()
	}
	return nil
}
