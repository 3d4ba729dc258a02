package rules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/expr"
)

// existence explains why an object exists, or why it does not.
func (a *asking) existence(d *Desired) []Origin {
	all := a.included(d.Child)
	at := 0
	for n, it := range d.Child.iterators {
		if at < len(d.values) {
			if e, traced := d.values[at].(tracedElement); traced && e.of != nil {
				all = append(all, a.list(it.in, e.of, []any{e.at}))
			}
		}
		if at++; d.Child.iterators[n].indexed {
			at++
		}
	}
	all = append(all, a.name(d)...)
	all = append(all, a.namespace(d)...)
	return append(all, a.excludedWith(d)...)
}

// child explains why the objects of a child exist, or why there are none.
func (a *asking) child(c *ChildResult) []Origin {
	all := a.included(c.Child)
	for _, it := range c.Child.iterators {
		if e := a.of.read.last[it.in]; e != nil {
			all = append(all, a.list(it.in, e, nil))
		}
	}
	for i := range c.Objects {
		d := &c.Objects[i]
		all = append(all, a.name(d)...)
		all = append(all, a.excludedWith(d)...)
	}
	return all
}

// selection explains whether the rule selects the resource, and which checks it fails.
func (a *asking) selection() (all []Origin) {
	rule := a.res.Rule
	if rule.when != nil {
		all = append(all, a.program(RoleSelection, rule.Selection+".when", rule.when, evaluated{}, nil, expr.UsedValue))
	}
	if !rule.Selector.Empty() {
		o := a.own(rule.Selection+".selector", rule.Pos)
		o.Role, o.Reads = RoleSelection, []Reading{a.of.ofSelf("metadata", "labels")}
		all = append(all, o)
	}
	for i := range rule.checks {
		k := &rule.checks[i]
		if e := a.of.read.ran[evaluated{prog: k.prog}]; e != nil && e.value != types.True {
			all = append(all, a.program(RoleValidate, fmt.Sprintf("validate[%d]", i), k.prog, evaluated{}, nil, expr.UsedValue))
		}
	}
	return all
}

// included explains whether the rule wants a child.
func (a *asking) included(c *Child) []Origin {
	all := a.selection()
	if c.Timeout > 0 {
		o := a.own("finalize", c.Pos, "deletionTimestamp")
		o.Role = RoleWhen
		all = append(all, o)
	}
	if c.when != nil {
		all = append(all, a.program(RoleWhen, "when", c.when, evaluated{}, nil, expr.UsedValue))
	}
	if c.replicas != nil {
		all = append(all, a.program(RoleReplicas, "replicas", c.replicas, evaluated{}, nil, expr.UsedValue))
	}
	return all
}

// list explains a list of forEach: which element there is, and how many.
func (a *asking) list(in *expr.Program, e *evaluation, element []any) Origin {
	all := Origin{Role: RoleForEach, Rule: a.res.Rule.Name, Field: "forEach", Pos: in.Pos(), Text: in.Text()}
	var reads []read
	all.Value, reads = a.of.read.part(e, nil, expr.UsedExtent)
	_, more := a.of.read.part(e, element, expr.UsedPresence)
	for _, r := range more {
		if !slices.ContainsFunc(reads, func(o read) bool {
			return o.of.name == r.of.name && o.use == r.use && slices.Equal(o.path, r.path)
		}) {
			reads = append(reads, r)
		}
	}
	all.Reads = a.readings(reads)
	return all
}

// excludedWith explains what excludes the other children that an object reads: if it reads them
// plainly, it is excluded with them.
func (a *asking) excludedWith(d *Desired) (all []Origin) {
	found := map[int]bool{}
	for of, e := range a.of.read.ran {
		if of.child == d.Child && of.index == d.Index && of.prog != d.Child.readyWhen && of.prog != d.Child.failWhen {
			a.childrenRead(e, found, map[*evaluation]bool{})
		}
	}
	for _, i := range slices.Sorted(maps.Keys(found)) {
		other := a.res.Children[i].Child
		if other == d.Child {
			continue
		}
		role := RoleChild
		if slices.Contains(d.Excluded, other.ID) {
			role = RoleExcluded
		}
		o := Origin{Role: role, Rule: a.res.Rule.Name, Field: other.ID, Pos: other.Pos}
		one := Reading{Path: other.ID, Use: expr.UsedPresence}
		a.once(&one, "exclusion of "+other.ID, func() []Origin { return a.exclusion(&a.res.Children[i]) })
		if len(one.From) > 0 {
			o.Reads = append(o.Reads, one)
			all = append(all, o)
		}
	}
	return all
}

// exclusion explains why a child is excluded, or may be.
func (a *asking) exclusion(c *ChildResult) (all []Origin) {
	if c.Child.when != nil {
		all = append(all, a.program(RoleWhen, "when", c.Child.when, evaluated{}, nil, expr.UsedValue))
	}
	for i := range c.Objects {
		all = append(all, a.excludedWith(&c.Objects[i])...)
	}
	return all
}

// childrenRead collects the children that an evaluation reads, also through lets, lists of
// forEach and lookups.
func (a *asking) childrenRead(e *evaluation, found map[int]bool, seen map[*evaluation]bool) {
	if e == nil || seen[e] {
		return
	}
	seen[e] = true
	rule := a.res.Rule
	for _, r := range e.reads {
		var programs []*expr.Program
		switch v := r.of; {
		case v.self, v.clock, v.object != nil:
		case v.local:
			a.childrenRead(v.element, found, seen)
		case v.of.kind == letVariable:
			programs = rule.lets[v.of.index].programs()
		case v.of.kind == lookupVariable:
			l := rule.Lookups[v.of.index]
			programs = slices.Concat(l.namespace.programs(), l.name.programs(), l.names.programs(), l.selector.programs())
		case v.of.kind == childVariable:
			found[v.of.index] = true
		}
		for _, p := range programs {
			a.childrenRead(a.of.read.ran[evaluated{prog: p}], found, seen)
		}
	}
}
