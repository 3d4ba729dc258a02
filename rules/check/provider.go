package check

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A provider adds the types of a universe to CEL's own.
type provider struct {
	types.Provider
	all *universe
}

// FindStructType returns the type of a name.
func (p provider) FindStructType(name string) (*types.Type, bool) {
	if o := p.all.objects[name]; o != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames returns the fields of a type.
func (p provider) FindStructFieldNames(name string) ([]string, bool) {
	if o := p.all.objects[name]; o != nil {
		return o.names(), true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType returns the type of a field.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	o := p.all.objects[name]
	if o == nil {
		return p.Provider.FindStructFieldType(name, field)
	}
	t := p.all.fieldType(o, field)
	return &types.FieldType{Type: t}, t != nil
}

// NewValue creates nothing: expressions are only checked.
func (p provider) NewValue(name string, fields map[string]ref.Val) ref.Val {
	return p.Provider.NewValue(name, fields)
}
