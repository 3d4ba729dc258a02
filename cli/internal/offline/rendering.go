package offline

import (
	"fmt"
	"strings"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/schema"
)

// A rendering is what the rules render for one resource.
type rendering struct {
	*Renderer
	self    *files.Object
	foreign map[rules.Identity]string // observed objects that something else controls
	own     *item                     // what the rules write into the resource itself
}

// tell prints a note about the resource.
func (r *rendering) tell(format string, args ...any) {
	r.say("%s: %s", r.self, fmt.Sprintf(format, args...))
}

// fail prints and counts an error about the resource.
func (r *rendering) fail(format string, args ...any) {
	r.Failures++
	r.tell(format, args...)
}

// observeSelf copies the status of the observed object if the resource has none. It
// uses nothing else of the observed object, and prints a note either way.
func (r *rendering) observeSelf() {
	live := r.observed.find(identity(r.self))
	if live == nil {
		return
	}
	status, has := live.Object["status"]
	switch _, own := r.self.Object["status"]; {
	case own:
		r.tell("is also in %s, which is not used: %s has its status", live.File, r.self.File)
	case has:
		r.self.Object["status"] = status
		r.tell("its status is taken from %s, the rest from %s", live.File, r.self.File)
	default:
		r.tell("is also in %s, which is not used", live.File)
	}
}

// render adds the children, and then what the rules write into the resource itself.
func (r *rendering) render(primary *rules.Primary) {
	var out rules.Rendering
	primary.Render(rules.Input{Self: r.self.Object, Observed: r.live, Owned: r.owned, Lookup: r.lookup}, &out)
	matched := false
	for i := range out.Rules {
		result := &out.Rules[i]
		matched = matched || result.Matches || result.Teardown || result.Err != nil
		r.rule(result)
	}
	if !matched {
		r.tell("no rule selects it: for.namespaces, for.selector or for.when does not match")
		return
	}
	for i := range out.Rules {
		r.patch(&out.Rules[i])
	}
	r.status(out.Rules)
	if r.own != nil {
		r.items = append(r.items, *r.own)
	}
}

// rule adds the result of one rule.
func (r *rendering) rule(result *rules.RuleResult) {
	if err := result.Err; err != nil {
		at := ""
		if err.Reason == rules.InvalidSpec { // The message comes from the author of the rules. Other errors have a position.
			at = fmt.Sprintf("rule %q (%s:%d): ", result.Rule.Name, result.Rule.Pos.File, result.Rule.Pos.Line)
		}
		r.fail("%s%v", at, err)
		return
	}
	for i := range result.Children {
		// While a resource is being deleted, only finalize renders objects.
		// Otherwise only children do.
		if c := &result.Children[i]; result.Teardown == (c.Child.Timeout > 0) {
			r.collection(c)
		}
	}
	for i := range result.StatusErrs {
		r.fail("%v", &result.StatusErrs[i])
	}
	for _, w := range result.StatusWaits {
		r.tell("rule %q, %s: waits for %s", result.Rule.Name, w.Field, strings.Join(w.Waits, ", "))
	}
}

// collection adds the objects of one child. If it has none, it prints the reason.
func (r *rendering) collection(c *rules.ChildResult) {
	subject := subjectOf(c.Child, fmt.Sprintf("child %q", c.Child.ID))
	if r.isAbsent(subject, c.State, c.Waits, c.Err) {
		return
	}
	for i := range c.Objects {
		r.child(&c.Objects[i])
	}
}

// child adds one object of a child.
func (r *rendering) child(d *rules.Desired) {
	subject := subjectOf(d.Child, d.Subject())
	if r.isAbsent(subject, d.State, d.Waits, d.Err) {
		return
	}
	content, err := appliedContent(d)
	if err != nil {
		r.fail("%s: %v", subject, err)
		return
	}
	object := &files.Object{File: d.Child.Pos.File}
	object.Object = content
	if why := r.rejected(object, d.Child); why != "" {
		r.fail("%s: %s", subject, why)
		return
	}
	if len(d.Waits) > 0 {
		r.tell("%s: not applied yet: waits for %s", subject, strings.Join(d.Waits, ", "))
	}
	r.items = append(r.items, item{comment: "# " + subject, object: content})
}

// subjectOf names a child in a message, with its rule and position.
func subjectOf(c *rules.Child, what string) string {
	return fmt.Sprintf("rule %q, %s (%s:%d)", c.Rule.Name, what, c.Pos.File, c.Pos.Line)
}

// isAbsent reports whether a child renders nothing, and prints why.
func (r *rendering) isAbsent(subject string, state rules.State, waits []string, err error) bool {
	switch state {
	case rules.Excluded:
		r.tell("%s: excluded", subject)
	case rules.Waiting:
		r.tell("%s: waits for %s", subject, strings.Join(waits, ", "))
	case rules.Failed:
		r.fail("%v", err)
	default:
		return false
	}
	return true
}

// rejected returns why run would not apply a child, or "".
func (r *rendering) rejected(object *files.Object, c *rules.Child) string {
	id := identity(object)
	if why := r.foreign[id]; why != "" {
		return fmt.Sprintf("%s exists, and %s", object, why)
	}
	gk := id.GVK.GroupKind()
	switch scope, allowed := r.kinds.Scope(gk), c.Allowed(); {
	case scope == schema.ClusterScoped && !allowed:
		return fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", gk.Kind)
	case scope == schema.Namespaced && allowed:
		return fmt.Sprintf("%s is namespaced: remove it from allow.clusterScoped", gk.Kind)
	case scope == schema.Namespaced && id.Namespace == "":
		return fmt.Sprintf("metadata.namespace is missing: %s is namespaced, and the resource is not", gk.Kind)
	}
	if other := r.children[id]; other != nil {
		return fmt.Sprintf("%s is already rendered for %s", object, other)
	}
	r.children[id] = r.self
	return ""
}
