package check

import "github.com/google/cel-go/common/types"

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

// FindStructFieldType returns the type of a field.
func (p provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	o := p.all.objects[name]
	if o == nil {
		return p.Provider.FindStructFieldType(name, field)
	}
	t := p.all.fieldType(o, field)
	return &types.FieldType{Type: t}, t != nil
}
