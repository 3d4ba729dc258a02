package check

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/lint"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// lacking stands for the kinds in a message about a field that they lack.
const lacking = "\x00"

// eachKind checks a rule for each of its kinds. What is found for all of them is told
// once, anything else with the kinds.
func (c *checker) eachKind(written []*syntax.Rule) {
	before := c.ledger
	var ledgers []ledger
	for _, src := range written {
		c.ledger = newLedger(before.broken)
		maps.Copy(c.ledger.noted, before.noted)
		maps.Copy(c.ledger.speclessKinds, before.speclessKinds)
		c.ledger.found.Unreported = slices.Clone(before.found.Unreported)
		c.rule(src)
		ledgers = append(ledgers, c.ledger)
	}
	c.ledger = before
	c.merge(&c.ledger.found.Errors, written, ledgers, func(f *Found) []*source.Error { return f.Errors })
	c.merge(&c.ledger.found.Warnings, written, ledgers, func(f *Found) []*source.Error { return f.Warnings })
	for _, l := range ledgers {
		maps.Copy(c.ledger.noted, l.noted)
		maps.Copy(c.ledger.speclessKinds, l.speclessKinds)
		maps.Copy(c.ledger.found.ExcludedWith, l.found.ExcludedWith)
		for _, e := range l.found.Notes {
			c.ledger.say(&c.ledger.found.Notes, e)
		}
		for _, gvk := range l.found.Unreported {
			if !slices.Contains(c.ledger.found.Unreported, gvk) {
				c.ledger.found.Unreported = append(c.ledger.found.Unreported, gvk)
			}
		}
	}
}

// merge adds what was found for the kinds of a rule.
func (c *checker) merge(to *[]*source.Error, written []*syntax.Rule, ledgers []ledger,
	of func(*Found) []*source.Error) {
	kinds := map[finding][]string{}
	var firsts []*source.Error
	for i := range ledgers {
		for _, e := range of(&ledgers[i].found) {
			key := finding{e.Pos, e.Message}
			if kinds[key] == nil {
				firsts = append(firsts, e)
			}
			kinds[key] = append(kinds[key], written[i].For.Kind.Value)
		}
	}
	for _, e := range firsts {
		of := kinds[finding{e.Pos, e.Message}]
		if e.Check == lint.AbsentField && c.lacked[e.Pos] {
			continue // For other kinds the same field may be absent: one mistake.
		}
		c.lacked[e.Pos] = c.lacked[e.Pos] || strings.Contains(e.Message, lacking)
		e.Message = withKinds(e.Message, of, len(of) == len(written))
		c.ledger.say(to, e)
	}
}

// withKinds returns a message with the kinds that it is about, unless it is about all or
// names them already.
func withKinds(message string, kinds []string, all bool) string {
	has := " has "
	if len(kinds) > 1 {
		has = " have "
	}
	list := listKinds(kinds)
	switch {
	case strings.Contains(message, lacking):
		return strings.Replace(message, lacking, list+has, 1)
	case all || strings.HasPrefix(message, "for[") || len(kinds) == 1 && strings.Contains(message, kinds[0]):
		return message
	}
	return "for " + list + ": " + message
}

// listKinds returns a list of kinds as text.
func listKinds(kinds []string) string {
	last := len(kinds) - 1
	if last == 0 {
		return kinds[0]
	}
	return strings.Join(kinds[:last], ", ") + " and " + kinds[last]
}

// In a rule for several kinds, self has the type of one of them. So that an expression can
// ask for a field that only others have, the type also has their fields. The guards then
// show whether the expression reads such a field of an object that lacks it.

// unknownPart stands for the part of a kind without a schema: it may have any field.
var unknownPart = &object{name: mark + "unknown"}

// ofAllKinds are the fields that mean the same in all kinds.
var ofAllKinds = []string{"apiVersion", "kind", "metadata"}

// selfType returns the type of the primaries.
func (d *declarations) selfType() *types.Type {
	var others []*types.Type
	for i := range d.src.Others {
		others = append(others, d.all.kindType(kindIn(d.set, &d.src.Others[i])))
	}
	t := d.all.blend(d.all.kindType(d.kind), others)
	if o := d.all.object(t); o != nil {
		o.whole = true
	}
	return t
}

func kindIn(set *schema.Set, f *syntax.For) *schema.Kind { return set.Kind(gvkIn(f)) }

// blend returns a type with the fields of others that it lacks.
func (u *universe) blend(t *types.Type, others []*types.Type) *types.Type {
	switch {
	case t.Kind() == types.StructKind:
		return u.blendObjects(t, others)
	case t.Kind() == types.ListKind || t.Kind() == types.MapKind:
		last := len(t.Parameters()) - 1
		var inner []*types.Type
		for _, other := range others {
			if other.Kind() == t.Kind() {
				inner = append(inner, other.Parameters()[last])
			}
		}
		blended := u.blend(t.Parameters()[last], inner)
		if t.Kind() == types.ListKind {
			return types.NewListType(blended)
		}
		return types.NewMapType(t.Parameters()[0], blended)
	}
	return t
}

func (u *universe) blendObjects(t *types.Type, others []*types.Type) *types.Type {
	own := u.object(t)
	if own == nil {
		return t
	}
	parts, names := []*object{own}, []string{own.name}
	for _, other := range others {
		o := u.object(other)
		if other.Kind() == types.DynKind {
			o = unknownPart
		}
		if o != nil && !slices.Contains(parts, o) {
			parts, names = append(parts, o), append(names, strings.TrimPrefix(o.name, mark))
		}
	}
	if len(parts) == 1 {
		return t
	}
	name := strings.Join(names, "+")
	if u.objects[name] == nil {
		u.objects[name] = &object{name: name, schema: own.schema, fields: map[string]*types.Type{}, parts: parts}
	}
	return types.NewObjectType(name)
}

// blendedField returns the type of a field of a blended object, nil if no part has it.
func (u *universe) blendedField(o *object, field string) *types.Type {
	var all []*types.Type
	for i, part := range o.parts {
		switch {
		case part == unknownPart && o.whole && slices.Contains(ofAllKinds, field):
		case part == unknownPart:
			all = append(all, types.DynType)
		case i == 0 || u.field(part.schema, field) != nil:
			if t := u.fieldType(part, field); t != nil {
				all = append(all, t)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return u.blend(all[0], all[1:])
}

// blendedNames iterates over the names of the fields of all parts, in no order.
func (o *object) blendedNames() iter.Seq[string] {
	all := map[string]bool{}
	for _, part := range o.parts {
		if part.schema == nil {
			continue
		}
		for name := range part.schema.Properties {
			all[name] = true
		}
	}
	return maps.Keys(all)
}
