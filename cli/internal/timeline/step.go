package timeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/rendered"
	"reconcel/internal/yamltext"
	"reconcel/rules/kstatus"
	"reconcel/rules/schema"
	"reconcel/sim"
	"reconcel/sim/world"
)

// A Step is one change of one object.
type Step struct {
	Milliseconds     int64    `json:"at"`   // since the start
	By               string   `json:"by"`   // you, reconcel or Kubernetes
	Verb             string   `json:"verb"` // created, configured, deleting or deleted
	Object           Object   `json:"object"`
	Fields           []string `json:"fields,omitempty"` // what has changed
	Text             string   `json:"text"`             // the object as YAML; "": it is gone
	rendered.Finding          // its simple state, and why it is not ready
	Child            bool     `json:"child"` // of a rule
}

// step describes a change.
func (p *player) step(c sim.Change) Step {
	s := Step{Milliseconds: c.At.Sub(p.start).Milliseconds(), By: author(c.By)}
	u := c.New
	if u == nil {
		u = c.Old
	}
	s.Object = ObjectOf(u)
	s.Child = p.Program.ChildOf(u.Object) != nil
	switch {
	case c.New == nil:
		s.Verb = "deleted"
		return s
	case c.Old == nil:
		s.Verb = "created"
	case c.Old.GetDeletionTimestamp() == nil && c.New.GetDeletionTimestamp() != nil:
		s.Verb = "deleting"
	default:
		s.Verb = "configured"
	}
	shown := p.shown(c.New)
	if c.Old != nil {
		s.Fields = differences(p.shown(c.Old), shown)
	}
	text, err := yamltext.Marshal(shown)
	if err != nil {
		text = []byte("# " + err.Error() + "\n")
	}
	s.Text = string(text)
	s.Finding = p.finding(c.New)
	s.State = s.State.Simple()
	return s
}

// finding returns the state of a primary as reconcel reports it, and that of another object by
// its own status.
func (p *player) finding(u *unstructured.Unstructured) rendered.Finding {
	gvk := u.GroupVersionKind()
	if p.isPrimary(gvk.GroupKind()) {
		reporter := rendered.Reporter{
			HasConditions: !schema.BuiltInGroup(gvk.Group) && !slices.Contains(p.Unreported, gvk)}
		switch r := reporter.Resource(u); r.State {
		case rendered.Unreported:
		case rendered.Unknown:
			return rendered.Finding{State: rendered.Waiting, Message: r.Message}
		default:
			return rendered.Finding{State: r.State, Message: r.Message}
		}
	}
	return rendered.OfLive(kstatus.Judge(gvk.GroupKind(), u.Object))
}

// shown returns an object as people want to see it.
func (p *player) shown(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	u.SetManagedFields(nil)
	p.Program.HideGenerated(u.Object)
	return u.Object
}

// author names a client.
func author(client string) string {
	switch client {
	case "", someone:
		return "you"
	case world.Controller:
		return world.Controller
	}
	return "Kubernetes"
}
