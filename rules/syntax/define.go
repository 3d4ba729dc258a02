package syntax

import (
	"maps"
	"slices"
	"strings"

	"reconcel/rules/source"
)

const (
	// maxDefinitions is the maximum number of definitions in a document.
	maxDefinitions = 500
	// maxParams is the maximum number of parameters of a function.
	maxParams = 20
)

// Definitions are the named values and functions that all rules of one document share.
type Definitions struct {
	All  []*Definition
	Lost []string // names that could not be read
	// Nameless reports that there are more lost names, which are unknown.
	Nameless bool
	// Expressions are those of the rules.
	Expressions []*source.Expr

	at map[string]source.Pos
}

// A Definition is one entry of define: either an expression or data, never both.
type Definition struct {
	Name   source.String
	Digest source.Digest
	Params []Param // none: it is a value
	Expr   *source.Expr
	Data   *source.Node
}

// A Param is a parameter of a function: its name, and one of ParamTypes.
type Param struct{ Name, Type string }

// ParamTypes are the names of the types of parameters.
var ParamTypes = []string{"string", "int", "double", "bool", "list", "map", "dyn"}

// Expressions returns the expressions of a definition.
func (d *Definition) Expressions() []*source.Expr {
	if d.Expr != nil {
		return []*source.Expr{d.Expr}
	}
	return slices.Collect(d.Data.Expressions())
}

// Signature returns the name of a definition with its parameters.
func (d *Definition) Signature() string {
	if len(d.Params) == 0 {
		return d.Name.Value
	}
	var params []string
	for _, p := range d.Params {
		params = append(params, p.Name+" "+p.Type)
	}
	return d.Name.Value + "(" + strings.Join(params, ", ") + ")"
}

// positions returns the names of the definitions, which a rule cannot use for anything
// else.
func (ds *Definitions) positions() map[string]source.Pos {
	if ds == nil {
		return map[string]source.Pos{}
	}
	return maps.Clone(ds.at)
}

// read reads the definitions.
func (ds *Definitions) read(v source.Value) {
	if v.IsNull() {
		return
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		ds.Nameless = true
		return
	}
	for _, e := range v.Entries() {
		if len(ds.All) == maxDefinitions {
			v.ErrorAt(e.Key.Pos, "more than %d definitions", maxDefinitions)
			ds.Nameless = true
			return
		}
		if d := ds.readOne(v, e); d != nil {
			ds.at[d.Name.Value] = d.Name.Pos
			ds.All = append(ds.All, d)
		}
	}
	ds.Nameless = ds.Nameless || len(v.Entries()) < v.Len()
}

// readOne reads one definition, or returns nil after an error.
func (ds *Definitions) readOne(v source.Value, e source.Entry) *Definition {
	name, list, isFunction := strings.Cut(e.Key.Value, "(")
	name = strings.TrimSpace(name)
	d := &Definition{Name: source.String{Value: name, Pos: e.Key.Pos}, Digest: e.Digest()}
	lose := func(hint, format string, args ...any) {
		ds.Lost = append(ds.Lost, name)
		v.ErrorAt(e.Key.Pos, format, args...).Hint = hint
	}
	if name == "" {
		lose("", "a name is empty")
		return nil
	}
	if why := invalidName(name); why != "" {
		lose("", "%q %s", name, why)
		return nil
	}
	if at, taken := ds.at[name]; taken {
		lose("", "%q is already defined, at %s", name, at)
		return nil
	}
	if isFunction {
		list, closed := strings.CutSuffix(strings.TrimSpace(list), ")")
		if !closed {
			lose("write name(parameter type, parameter type)", "%q is not closed", e.Key.Value)
			return nil
		}
		params, why, hint := readParams(list)
		if why != "" {
			lose(hint, "%q %s", e.Key.Value, why)
			return nil
		}
		d.Params = params
	}
	if e.Value.IsMap() || e.Value.IsList() {
		d.Data = e.Value.Data()
	} else {
		d.Expr = e.Value.Expr()
	}
	if d.Data == nil && d.Expr == nil {
		ds.Lost = append(ds.Lost, name)
		return nil
	}
	return d
}

// readParams reads what is between the brackets of a function, or returns why it is
// wrong.
func readParams(list string) (params []Param, why, hint string) {
	if strings.TrimSpace(list) == "" {
		return nil, "has no parameters", "write a value, without ()"
	}
	for text := range strings.SplitSeq(list, ",") {
		words := strings.Fields(text)
		if len(words) != 2 {
			return nil, "needs a name and a type for each parameter",
				"such as (app string, labels map); the types are " + strings.Join(ParamTypes, ", ")
		}
		p := Param{words[0], words[1]}
		if why := invalidName(p.Name); why != "" {
			return nil, "has the parameter \"" + p.Name + "\", which " + why, ""
		}
		if !slices.Contains(ParamTypes, p.Type) {
			return nil, "has a parameter of the unknown type " + p.Type, source.HintKeys(p.Type, ParamTypes)
		}
		if slices.ContainsFunc(params, func(other Param) bool { return other.Name == p.Name }) {
			return nil, "has the parameter " + p.Name + " twice", ""
		}
		params = append(params, p)
	}
	if len(params) > maxParams {
		return nil, "has more than 20 parameters", "pass a map"
	}
	return params, "", ""
}

// maxLets is the maximum number of lets in a rule: the type of each one grows with
// the lets that it reads.
const maxLets = 500

// readLet reads the map of named values: a string is CEL, a map or list is data.
func readLet(v source.Value, names *names) []*Let {
	if v.IsNull() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		names.loseNames(v)
		return nil
	}
	var lets []*Let
	for _, e := range v.Entries() {
		if len(lets) == maxLets {
			v.ErrorAt(e.Key.Pos, "more than %d named values", maxLets)
			names.nameless = true // Expressions that read the others are no mistakes of their own.
			break
		}
		if e.Key.Value == "" {
			v.ErrorAt(e.Key.Pos, "a name is empty")
			continue
		}
		let := &Let{Name: e.Key, Unusable: !names.reserveName(e.Key, v)}
		if e.Value.IsMap() || e.Value.IsList() {
			let.Data = e.Value.Data()
		} else {
			let.Expr = e.Value.Expr()
		}
		lets = append(lets, let)
	}
	return lets
}
