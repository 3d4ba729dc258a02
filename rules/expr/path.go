package expr

import "reconcel/rules/projection"

// A path leads to a value in a variable.
type path struct {
	trail string // as written: deployment.status.conditions[0]
	live  bool   // the value may not exist yet
	// liveField is the field of self below which values may not exist yet.
	liveField string
	role      role
}

// A role is the part of an object that a path leads to.
type role int

const (
	ordinary       role = iota
	objectList          // a list of live objects
	wholeObject         // an object
	objectMetadata      // its metadata
	changing            // fields that every write changes
)

// anyKey stands for a key that is known only at run time, and for an index.
const anyKey = ""

// step returns the path of a field or element. text is the step as written, key the
// name of the field or anyKey.
func (p path) step(text, key string) path {
	return path{
		trail: p.trail + text,
		live:  p.live || p.role == objectList || p.liveField != "" && p.liveField == key,
		role:  p.role.step(key),
	}
}

// step returns the role of a field. An unknown key counts as the field that changes.
func (r role) step(key string) role {
	switch r {
	case objectList:
		return wholeObject
	case wholeObject:
		if key == "metadata" || key == anyKey {
			return objectMetadata
		}
	case objectMetadata:
		switch key {
		case "resourceVersion", "generation", "managedFields", anyKey:
			return changing
		}
	case changing:
		return changing
	}
	return ordinary
}

// A Dependence is what a part of the result of an expression can depend on, in any
// evaluation.
type Dependence map[string]*projection.Builder

// DependenceOf returns what the part of the result at a path can depend on: on its value, on
// the number of its elements, or on its presence.
func (p *Program) DependenceOf(path []any, use Use) Dependence {
	all := Dependence{}
	o := p.Trace(func(variable string) *Origin {
		if all[variable] == nil {
			all[variable] = &projection.Builder{}
		}
		return ObjectOrigin(all[variable])
	})
	for _, step := range path {
		if key, isKey := step.(string); isKey {
			o = o.field(key)
		} else {
			o = o.Any()
		}
	}
	switch use {
	case UsedValue:
		o.Keep()
	case UsedExtent:
		o.Any()
	}
	return all
}

// On reports whether it includes a part of a variable.
func (d Dependence) On(variable string, path []any) bool {
	if d[variable] == nil {
		return false
	}
	kept := d[variable].Projection()
	for _, step := range path {
		if key, isKey := step.(string); isKey {
			kept = kept.Field(key)
		} else {
			kept = kept.Elements()
		}
	}
	return kept != nil
}
