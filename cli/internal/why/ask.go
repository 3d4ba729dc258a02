package why

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules"
	"reconcel/rules/source"
)

// Ask answers a question about the objects of some subjects. isOf reports whether the
// question names the kind of an object.
func Ask(all []*Subject, q Question, isOf func(rules.Identity) bool) (*Answer, error) {
	var exact, maybe []subjectPart
	for _, s := range all {
		e, m := s.parts(q, isOf)
		exact, maybe = append(exact, e...), append(maybe, m...)
	}
	switch {
	case len(names(exact)) == 1:
		return answerOf(exact, q)
	case len(exact) > 1:
		return nil, &UnknownError{fmt.Sprintf("%s: several objects have that name, choose one with -n: %s", q.Target.Text,
			strings.Join(names(exact), ", "))}
	case len(maybe) > 0:
		p := maybe[0]
		a := p.existence()
		a.Object.Name = q.Target.Name
		return a, nil
	}
	return nil, unknownObject(all, q)
}

// answerOf answers a question about an object that is a primary, a child, or both. Several resources may share it.
func answerOf(parts []subjectPart, q Question) (*Answer, error) {
	isChild := func(p subjectPart) bool { return p.child != nil }
	i := slices.IndexFunc(parts, isChild)
	j := slices.IndexFunc(parts, func(p subjectPart) bool { return !isChild(p) })
	if i < 0 || j < 0 {
		return parts[0].answer(q)
	}
	child, primary := parts[i], parts[j]
	switch {
	case q.Condition != "", q.Path != "" && !child.sets(q.Path) && primary.sets(q.Path):
		return primary.answer(q)
	case q.Path != "":
		return child.answer(q)
	}
	a := child.existence()
	a.Children = primary.children(false)
	return a, nil
}

// sets reports whether the rules render a field of the object.
func (p subjectPart) sets(field string) bool {
	whole, _ := p.object()
	path, err := Find(whole, field)
	return err == nil && valueAt(whole, path) != nil
}

// rendersAny reports whether a question may be about an object of some subjects.
func rendersAny(all []*Subject, q Question, isOf func(rules.Identity) bool) bool {
	return slices.ContainsFunc(all, func(s *Subject) bool {
		exact, maybe := s.parts(q, isOf)
		return len(exact)+len(maybe) > 0
	})
}

func names(parts []subjectPart) (all []string) {
	for _, p := range parts {
		if name := p.identity().String(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// unknownObject says which objects there are.
func unknownObject(all []*Subject, q Question) error {
	var known []string
	add := func(id rules.Identity) {
		known = append(known, strings.ToLower(id.GVK.Kind)+"/"+id.Name)
	}
	for _, s := range all {
		add(s.Self)
		for i := range s.Out.Rules {
			for j := range s.Out.Rules[i].Children {
				for k := range s.Out.Rules[i].Children[j].Objects {
					add(s.Out.Rules[i].Children[j].Objects[k].Identity)
				}
			}
		}
	}
	if len(known) == 0 {
		return &UnknownError{q.Target.Text + " is not rendered: there are no resources of the rules"}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if near := source.Nearest(strings.ToLower(q.Target.Text), known); near != "" {
		return &UnknownError{fmt.Sprintf("%s is not rendered (did you mean %s?)", q.Target.Text, near)}
	}
	const most = 8
	if len(known) > most {
		known = append(known[:most], "…")
	}
	return &UnknownError{fmt.Sprintf("%s is not rendered: there are %s", q.Target.Text, strings.Join(known, ", "))}
}
