package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
	"reconcel/rules/source"
)

// An Answer is the output of -o json.
type Answer struct {
	Object            change.Object  `json:"object"`
	Resource          *change.Object `json:"resource,omitempty"` // whose child the object is
	Rule              string         `json:"rule,omitempty"`
	Child             string         `json:"child,omitempty"`
	*rendered.Finding                // nil: no state is asked, or nothing is wrong
	Field             *Field         `json:"field,omitempty"`
	// Condition is asked with --condition.
	Condition *Condition `json:"condition,omitempty"`
	// Existence are the decisions about the object.
	Existence []rules.Origin `json:"existence,omitempty"`
	Children  []Child        `json:"children,omitempty"` // of a primary, if neither a field nor a condition is asked

	// Sources have the expressions, for text.
	Sources []source.File `json:"-"`
}

// A Field is a field of the object, as the rules render it.
type Field struct {
	Path     string         `json:"path"`
	Value    any            `json:"value,omitempty"`
	Withheld bool           `json:"withheld,omitempty"`
	Origins  []rules.Origin `json:"origins"` // none: the rules do not set it
	Live     *LiveField     `json:"live,omitempty"`
}

// A Child is the state of an entry of children.
type Child struct {
	Rule  string `json:"rule"`
	Child string `json:"child"`
	rendered.Finding
	Reads []rules.Origin `json:"readiness,omitempty"` // readyWhen and failWhen, if a condition is asked
}

// A Condition is a condition of a primary.
type Condition struct {
	Type     string         `json:"type"`
	Status   string         `json:"status,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Message  string         `json:"message,omitempty"`
	Withheld bool           `json:"withheld,omitempty"` // reason and message
	Origins  []rules.Origin `json:"origins,omitempty"`  // of a rule
	Children []Child        `json:"children,omitempty"` // of Ready, Reconciling and Stalled, which follow from them
}

// A subjectPart is what a question is about.
type subjectPart struct {
	*Subject
	child *rules.ChildResult // nil: the primary
	d     *rules.Desired     // nil: the child has no such object
}

// identity returns the identity of the object, without a name if the child has no such object.
func (p subjectPart) identity() rules.Identity {
	switch {
	case p.child == nil:
		return p.Self
	case p.d == nil:
		return rules.Identity{GVK: p.child.Child.GVK}
	}
	return p.d.Identity
}

// object returns the object as it is rendered and as it is live. Of a primary, the rules render only what they write
// into it.
func (p subjectPart) object() (whole, live map[string]any) {
	switch {
	case p.child == nil:
		return p.own(), p.Object
	case p.d == nil:
		return nil, nil
	}
	live = p.d.Live.Object
	if p.d.State == rules.Rendered {
		whole, _ = p.d.Whole()
	}
	return whole, live
}

// existence answers why an object exists.
func (p subjectPart) existence() *Answer {
	self := change.ObjectWithID(p.Self)
	if p.child == nil {
		a := &Answer{Object: self, Children: p.children(false)}
		for i := range p.Out.Rules {
			r := &p.Out.Rules[i]
			a.Existence = append(a.Existence, p.Explain.Selection(r.Rule)...)
			switch {
			case r.Err != nil:
				a.Finding = &rendered.Finding{State: rendered.Failed, Message: r.Err.Error()}
			case !r.Matches && !r.Teardown && a.Finding == nil:
				a.Finding = &rendered.Finding{State: rendered.Excluded,
					Message: fmt.Sprintf("rule %q does not select it", r.Rule.Name)}
			}
		}
		return a
	}
	c := p.child.Child
	a := &Answer{Resource: &self, Rule: c.Rule.Name, Child: c.ID}
	var found rendered.Finding
	if p.d == nil {
		found, a.Existence = rendered.OfChild(p.child, p.Find), p.Explain.Child(p.child)
	} else {
		found, a.Existence = p.Find(p.d), p.Explain.Existence(p.d)
	}
	a.Object, a.Finding = change.ObjectWithID(p.identity()), &found
	return a
}

// field answers where the value of a field comes from.
func (p subjectPart) field(text string) (*Answer, error) {
	a := p.existence()
	a.Children = nil
	whole, live := p.object()
	path, err := Find(merged(whole, live), text)
	if err != nil {
		return nil, err
	}
	f := &Field{Path: shown(path), Value: valueAt(whole, path)}
	switch {
	case p.child == nil:
		f.Value = valueAt(merged(whole, live), path)
		for i := range p.Out.Rules {
			f.Origins = append(f.Origins, p.Explain.Own(p.Out.Rules[i].Rule, path)...)
		}
		a.Existence = nil
	case p.d != nil:
		f.Origins = p.Explain.Field(p.d, path)
		if f.Value == nil {
			f.Value = valueAt(live, path)
		}
	}
	f.Withheld = rules.IsSecretData(p.identity().GVK, path) ||
		slices.ContainsFunc(f.Origins, func(o rules.Origin) bool { return o.Withheld })
	if f.Withheld {
		f.Value = nil
	}
	if p.Live != nil && (p.d == nil || p.d.Live.Object != nil) {
		f.Live = p.Live.field(p, path, f)
	}
	a.Field = f
	return a, nil
}

// own returns what the rules write into the primary itself.
func (p subjectPart) own() map[string]any {
	all := map[string]any{}
	for i := range p.Out.Rules {
		all = merged(all, ownOf(&p.Out.Rules[i]))
	}
	return all
}

// following are the conditions that follow from the children.
var following = []string{"Ready", "Reconciling", "Stalled"}

// condition answers where a condition comes from.
func (p subjectPart) condition(typ string) (*Answer, error) {
	a := &Answer{Object: change.ObjectWithID(p.Self)}
	known := slices.Clone(following)
	for i := range p.Out.Rules {
		r := &p.Out.Rules[i]
		for j := range r.Conditions {
			c := &r.Conditions[j]
			if known = append(known, c.Type); c.Type == typ {
				a.Rule = r.Rule.Name
				a.Condition = &Condition{Type: typ, Status: string(c.Status), Reason: c.Reason, Message: c.Message,
					Origins: p.Explain.Condition(r.Rule, c)}
				a.Condition.withhold()
				return a, nil
			}
		}
	}
	if !slices.Contains(following, typ) {
		near := source.DidYouMean(typ, known)
		if near == "" {
			near = ": there are " + strings.Join(known, ", ")
		}
		return nil, &UnknownError{fmt.Sprintf("no rule sets the condition %q%s", typ, near)}
	}
	a.Condition = &Condition{Type: typ, Children: p.children(true)}
	conditions, _ := valueAt(p.Object, []any{"status", "conditions"}).([]any)
	for _, c := range conditions {
		if valueAt(c, []any{"type"}) == typ {
			a.Condition.Status, _ = valueAt(c, []any{"status"}).(string)
			a.Condition.Reason, _ = valueAt(c, []any{"reason"}).(string)
			a.Condition.Message, _ = valueAt(c, []any{"message"}).(string)
		}
	}
	return a, nil
}

// withhold removes a reason and a message that show data of a Secret.
func (c *Condition) withhold() {
	c.Withheld = slices.ContainsFunc(c.Origins, func(o rules.Origin) bool {
		return o.Withheld && (o.Role == rules.RoleReason || o.Role == rules.RoleMessage)
	})
	if c.Withheld {
		c.Reason, c.Message = "", ""
	}
}

// children returns the states of the children.
func (p subjectPart) children(readiness bool) (all []Child) {
	for i := range p.Out.Rules {
		r := &p.Out.Rules[i]
		for j := range r.Children {
			c := &r.Children[j]
			if r.Teardown != (c.Child.Timeout > 0) {
				continue
			}
			one := Child{Rule: r.Rule.Name, Child: c.Child.ID, Finding: rendered.OfChild(c, p.Find)}
			for k := range c.Objects {
				if readiness {
					one.Reads = append(one.Reads, p.Explain.Readiness(&c.Objects[k])...)
				}
			}
			all = append(all, one)
		}
		if f := r.Err; f != nil {
			all = append(all, Child{Rule: r.Rule.Name, Finding: rendered.Finding{State: rendered.Failed, Message: f.Error()}})
		}
	}
	return all
}

// ownOf returns what a rule writes into the primary itself.
func ownOf(r *rules.RuleResult) map[string]any {
	object, status := decoded(r.Patch), decoded(r.Status)
	if len(status) > 0 {
		object = maps.Clone(object)
		object["status"] = status
	}
	return object
}
