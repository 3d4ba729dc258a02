package why

import (
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
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

// A Subject is the rendering of one primary, with what its expressions read.
type Subject struct {
	Self    rules.Identity
	Object  map[string]any // the primary
	Out     *rendered.Rendering
	Explain *rules.Explanation
	Find    func(*rules.Desired) rendered.Finding // the state of an object
	Live    *Live                                 // nil: without a cluster
}

// Render renders the rules of a primary, and records what they read.
func Render(file *syntax.File, primary *rules.Primary, in rules.Input) *Subject {
	in.Trace = &rules.Trace{}
	s := &Subject{Object: in.Self, Out: rendered.Render(primary, in), Find: offlineState}
	s.Explain = rules.Explain(file, primary, in, &s.Out.Rendering)
	s.Self = s.Explain.Self()
	return s
}

// offlineState returns the state of an object without a cluster: nothing says that it is not
// ready.
func offlineState(d *rules.Desired) rendered.Finding {
	found := rendered.OfObject(d)
	if d.State == rules.Rendered && len(d.Waits) == 0 {
		return rendered.Finding{State: rendered.Rendered}
	}
	return found
}

// A Question is about an object, one of its fields, or one of its conditions.
type Question struct {
	Target    cluster.Target
	Namespace string // "": any
	Path      string // "": why the object exists
	Condition string // of a primary, instead of a path
}

// parts returns what of a subject a question may be about. Objects come before children that
// have none.
func (s *Subject) parts(q Question, isOf func(rules.Identity) bool) (exact, maybe []subjectPart) {
	matches := func(id rules.Identity) bool {
		return isOf(id) && id.Name == q.Target.Name && (q.Namespace == "" || id.Namespace == "" ||
			id.Namespace == q.Namespace)
	}
	if matches(s.Self) {
		exact = append(exact, subjectPart{Subject: s})
	}
	for i := range s.Out.Rules {
		r := &s.Out.Rules[i]
		if len(r.Children) == 0 { // The rule fails, or does not select the resource.
			for _, c := range r.Rule.Children {
				if isOf(rules.Identity{GVK: c.GVK}) {
					maybe = append(maybe, subjectPart{s, &rules.ChildResult{Child: c, State: absentState(r), Err: r.Err}, nil})
				}
			}
		}
		for j := range r.Children {
			c := &r.Children[j]
			for k := range c.Objects {
				if d := &c.Objects[k]; matches(d.Identity) {
					exact = append(exact, subjectPart{s, c, d})
				}
			}
			if len(c.Objects) == 0 && isOf(rules.Identity{GVK: c.Child.GVK}) {
				maybe = append(maybe, subjectPart{s, c, nil})
			}
		}
	}
	return exact, maybe
}

// absentState returns the state of the children of a rule that has none.
func absentState(r *rules.RuleResult) rules.State {
	if r.Err != nil {
		return rules.Failed
	}
	return rules.Excluded
}

// answer answers a question about one part.
func (p subjectPart) answer(q Question) (*Answer, error) {
	switch {
	case q.Condition != "" && p.child != nil:
		return nil, &UnknownError{"--condition needs a resource of a rule, not a child"}
	case q.Condition != "":
		return p.condition(q.Condition)
	case q.Path != "":
		return p.field(q.Path)
	}
	return p.existence(), nil
}

func decoded(text []byte) map[string]any {
	out := map[string]any{}
	if len(text) > 0 {
		_ = utiljson.Unmarshal(text, &out) // The rendering wrote it.
	}
	return out
}
