package graph

import (
	"fmt"
	"strings"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
)

// For returns the diagrams of all rules for a resource. find returns the state of an object.
func For(out *rendered.Rendering, find func(*rules.Desired) rendered.Finding) (all []*Diagram) {
	for i := range out.Rules {
		of := &out.Rules[i]
		d := Of(of.Rule)
		d.show(result{of, out.Lookups, find})
		all = append(all, d)
	}
	return all
}

// OfObject returns the diagrams of all rules for a resource that is rendered without a
// cluster, or nil if it cannot be rendered: the renderer has told why.
func OfObject(program *rules.Program, r *offline.Renderer, self *files.Object) []*Diagram {
	in, err := r.Input(self)
	if err != nil {
		return nil
	}
	for _, p := range program.Primaries() {
		if p.GVK == self.Unstructured.GroupVersionKind() {
			return For(rendered.Render(p, in), rendered.OfObject)
		}
	}
	return nil
}

// A result is what a rule renders for one resource.
type result struct {
	*rules.RuleResult
	lookups map[*rules.Lookup]rendered.Finding
	find    func(*rules.Desired) rendered.Finding // the state of an object
}

// show adds the states of the parts to the diagram of the rule.
func (d *Diagram) show(r result) {
	index := map[rules.PartKind]int{}
	var total rendered.Finding
	ready, wanted := 0, 0
	for i := range d.Nodes {
		n := &d.Nodes[i]
		kind := n.Kind
		if kind == rules.FinalizePart {
			kind = rules.ChildPart // They share a list.
		}
		found := r.part(n, index[kind])
		index[kind]++
		if n.show(found); n.Kind != rules.ChildPart || found.State == rendered.Excluded || found.State == "" {
			continue
		}
		total.State = rendered.Worse(total.State, found.State)
		if wanted++; found.State.IsReady() {
			ready++
		}
	}
	switch total.State {
	case "", rendered.Done:
		total.State = rendered.Ready
	case rendered.Missing:
		total.State = rendered.Waiting // The resource itself is not missing.
	}
	total.Message = fmt.Sprintf("%d of %d children ready", ready, wanted)
	switch {
	case r.Err != nil:
		total = rendered.Finding{State: rendered.Failed, Message: r.Err.Error()}
	case !r.Matches && !r.Teardown:
		total = rendered.Finding{State: rendered.Excluded, Message: "the rule does not select it"}
	}
	d.Nodes[0].show(total)
}

// part returns the state of a node that is the i-th of its kind.
func (r *result) part(n *Node, i int) (found rendered.Finding) {
	switch {
	case r.Err != nil || !r.Matches && !r.Teardown:
	case n.Kind == rules.LookupPart:
		found = r.lookups[r.Rule.Lookups[i]]
	case n.Kind == rules.ChildPart || n.Kind == rules.FinalizePart && r.Teardown:
		found = rendered.OfChild(&r.Children[i], r.find)
	case n.Kind == rules.PatchPart:
		found = reported(r.PatchErr, r.PatchWaits)
	case n.Kind == rules.StatusPart:
		var waits []string
		for _, w := range r.StatusWaits {
			waits = append(waits, w.Waits...)
		}
		found = reported(r.StatusErr, waits)
	case n.Kind == rules.ConditionPart:
		found = r.condition(n.id)
	}
	return found
}

func reported(err *rules.Failure, waits []string) rendered.Finding {
	switch {
	case err != nil:
		return rendered.Finding{State: rendered.Failed, Message: err.Error()}
	case len(waits) > 0:
		return rendered.Finding{State: rendered.Waiting, Message: "waits for " + strings.Join(waits, ", ")}
	}
	return rendered.Finding{State: rendered.Ready}
}

// condition returns the state of an entry of conditions. That a condition is False is no
// trouble by itself.
func (r *result) condition(id string) (found rendered.Finding) {
	for j := range r.Conditions {
		c := &r.Conditions[j]
		if c.Written() != id {
			continue
		}
		one := rendered.Finding{State: rendered.Ready, Message: string(c.Status)}
		if c.Status == rules.Unknown {
			one = rendered.Finding{State: rendered.Waiting, Message: c.Message}
		}
		if found.State == "" || one.State == rendered.Waiting {
			found = one
		}
	}
	return found
}

func (n *Node) show(f rendered.Finding) {
	if n.State = f.State.Simple(); f.State == "" {
		return
	}
	n.Lines = append(n.Lines, short(f.String()))
}
