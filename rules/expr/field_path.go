package expr

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A fieldPath is an expression that reads one field of the primary and does nothing else if that exists,
// like self.spec.image and self.spec.?replicas.orValue(1). Most expressions are of this form, and CEL
// takes several times as long for it as the read of the fields does.
type fieldPath struct {
	fields  []string
	adapter types.Adapter
}

// pathOf returns the path of an expression, or nil if it is none.
func pathOf(e ast.Expr, adapter types.Adapter) *fieldPath {
	fields, open := fieldsOf(e)
	if len(fields) == 0 || open {
		return nil
	}
	return &fieldPath{fields, adapter}
}

// fieldsOf returns the fields from the primary to the value of an expression, or nothing. open: the value
// is an optional.
func fieldsOf(e ast.Expr) (fields []string, open bool) {
	operand, field := e, ""
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return nil, false
		}
		operand, field = e.AsSelect().Operand(), e.AsSelect().FieldName()
	case ast.CallKind:
		c := e.AsCall()
		switch {
		case c.FunctionName() == operators.OptSelect:
			name, _ := c.Args()[1].AsLiteral().(types.String)
			operand, field, open = c.Args()[0], string(name), true
		case c.FunctionName() == "orValue" && c.IsMemberFunction():
			if fields, open = fieldsOf(c.Target()); !open {
				return nil, false // It takes an optional.
			}
			return fields, false
		}
	}
	if field == "" {
		return nil, false
	}
	if operand.Kind() == ast.IdentKind && operand.AsIdent() == selfName {
		return []string{field}, open
	}
	fields, before := fieldsOf(operand)
	if fields != nil {
		fields = append(fields, field)
	}
	return fields, open || before
}

// read returns the value, as CEL would. It does not exist if any field of the path is missing or null:
// CEL knows whether that is an error, what it waits for, and the other value.
func (p *fieldPath) read(frame *interpreter.ExecutionFrame) (v ref.Val, exists bool) {
	if p == nil {
		return nil, false
	}
	value, _ := frame.ResolveName(selfName)
	for _, field := range p.fields {
		object, _ := value.(map[string]any)
		value = object[field]
	}
	if value == nil {
		return nil, false
	}
	return p.adapter.NativeToValue(value), true
}
