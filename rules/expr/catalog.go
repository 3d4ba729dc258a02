package expr

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// A Function is a function that expressions can call, for editors.
type Function struct {
	Name  string
	Usage []string // how it can be called, like "string.split(string): list of string"
}

// Functions returns the functions that are called without a value before them, sorted
// by name.
func Functions() []Function {
	return functionsWhere(func(o *decls.OverloadDecl) bool { return !o.IsMemberFunction() }, "")
}

// Methods returns the functions that are called on a value of a type, sorted by name.
func Methods(t *types.Type) []Function {
	on := ""
	switch t.Kind() {
	case types.ListKind:
		on = "list"
	case types.MapKind, types.StructKind:
		on = "map"
	case types.OpaqueKind:
		on = "optional"
	case types.DynKind:
		on = "any"
	}
	return functionsWhere(func(o *decls.OverloadDecl) bool { return o.IsMemberFunction() && accepts(o.ArgTypes()[0], t) },
		on)
}

// Overloads returns the declarations of a function or operator, in the order of their names.
func Overloads(function string) []*decls.OverloadDecl {
	b, err := base()
	if err != nil || b.declared[function] == nil {
		return nil
	}
	return slices.SortedFunc(slices.Values(b.declared[function].OverloadDecls()), func(a, b *decls.OverloadDecl) int {
		return strings.Compare(a.ID(), b.ID())
	})
}

// accepts reports whether a function for one type may be called on a value of another.
func accepts(receiver, t *types.Type) bool {
	switch {
	case t.Kind() == types.DynKind || receiver.Kind() == types.TypeParamKind || receiver.Kind() == types.DynKind:
		return true
	case receiver.Kind() == types.OpaqueKind:
		return receiver.TypeName() == t.TypeName()
	case t.Kind() == types.StructKind:
		return receiver.Kind() == types.MapKind
	}
	return receiver.Kind() == t.Kind()
}

// functionsWhere returns the functions with an overload that is meant, and the macros
// that are called on such a value.
func functionsWhere(meant func(*decls.OverloadDecl) bool, on string) []Function {
	b, err := base()
	if err != nil {
		return nil
	}
	found := map[string][]string{}
	for _, name := range b.functions {
		for _, o := range b.declared[name].OverloadDecls() {
			if meant(o) {
				found[name] = append(found[name], usageOf(name, o))
			}
		}
	}
	for name, usage := range usages {
		target, _, _ := strings.Cut(usage, "."+name+"(")
		if target == usage || strings.HasPrefix(usage, name+"(") {
			target = ""
		}
		if target == on || on == "any" && target != "" || on == "map" && target == "list" {
			found[name] = append(found[name], usage)
		}
	}
	var all []Function
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, Function{name, found[name]})
	}
	return all
}

func usageOf(name string, o *decls.OverloadDecl) string {
	var args []string
	for _, a := range o.ArgTypes() {
		args = append(args, TypeName(a))
	}
	call := name
	if o.IsMemberFunction() {
		call = args[0] + "." + name
		args = args[1:]
	}
	return call + "(" + strings.Join(args, ", ") + "): " + TypeName(o.ResultType())
}
