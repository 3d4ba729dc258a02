package why

import (
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

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
