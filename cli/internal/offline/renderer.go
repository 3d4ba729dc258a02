package offline

import (
	"fmt"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// A Renderer renders resources one after another, and collects the result.
type Renderer struct {
	Failures int // resources and children that could not be rendered

	program  *rules.Program
	kinds    Kinds
	say      func(format string, args ...any) // prints a line for people
	observed *observed
	out      rules.Rendering

	own   *item                            // what the rules write into the current resource
	given map[rules.Identity]*files.Object // resources so far
	made  map[rules.Identity]string        // children so far, and their resource
	items []item
}

// New returns a renderer with observed objects.
func New(program *rules.Program, kinds Kinds, live []*files.Object, say func(format string, args ...any)) (*Renderer, error) {
	all, err := newObserved(live)
	return &Renderer{
		program: program, kinds: kinds, say: say, observed: all,
		given: map[rules.Identity]*files.Object{}, made: map[rules.Identity]string{},
	}, err
}

type item struct {
	comment string
	object  map[string]any
}

// tell prints a note about a resource.
func (r *Renderer) tell(o *files.Object, format string, args ...any) {
	r.say("%s: %s", o, fmt.Sprintf(format, args...))
}

// fail prints and counts an error about a resource.
func (r *Renderer) fail(o *files.Object, format string, args ...any) {
	r.Failures++
	r.tell(o, format, args...)
}

// Render renders a resource with all rules for its kind.
func (r *Renderer) Render(o *files.Object) {
	if other := r.given[identity(o)]; other != nil {
		r.fail(o, "is given twice, in %s and %s", other.File, o.File)
		return
	}
	r.given[identity(o)] = o
	primary, why := r.primary(o)
	if primary == nil {
		r.tell(o, "%s", why)
		return
	}
	dropped, err := r.kinds.complete(o)
	if err != nil {
		r.fail(o, "%s: %v", o.File, err)
		return
	}
	for _, field := range dropped {
		r.tell(o, "%s%s: dropped, as the API server would: the CRD has no such field", field.Path, source.DidYouMean(field.Name, field.Have))
	}
	r.observeSelf(o)
	foreign := map[rules.Identity]string{}
	primary.Render(rules.Input{
		Self:     o.Object,
		Observed: func(id rules.Identity) rules.Live { return r.live(o, id, foreign) },
		Owned:    func(rule *rules.Rule, c *rules.Child) []rules.Live { return r.owned(o, rule, c) },
		Lookup:   r.lookup,
	}, &r.out)
	matched := false
	for i := range r.out.Rules {
		result := &r.out.Rules[i]
		matched = matched || result.Matches || result.Teardown || result.Err != nil
		r.rule(o, result, foreign)
	}
	if !matched {
		r.tell(o, "no rule selects it: for.namespaces, for.selector or for.when does not match")
		return
	}
	r.own = nil
	for i := range r.out.Rules {
		r.patch(o, &r.out.Rules[i])
	}
	r.status(o)
	if r.own != nil {
		r.items = append(r.items, *r.own)
	}
}

// observeSelf copies the status of the observed object if the resource has none. It
// uses nothing else of the observed object, and prints a note either way.
func (r *Renderer) observeSelf(o *files.Object) {
	live := r.observed.find(identity(o))
	if live == nil {
		return
	}
	status, has := live.Object["status"]
	switch _, own := o.Object["status"]; {
	case own:
		r.tell(o, "is also in %s, which is not used: %s has its status", live.File, o.File)
	case has:
		o.Object["status"] = status
		r.tell(o, "its status is taken from %s, the rest from %s", live.File, o.File)
	default:
		r.tell(o, "is also in %s, which is not used", live.File)
	}
}

// live returns the observed state of a child. An object that something else
// controls is not a child of the resource.
func (r *Renderer) live(o *files.Object, id rules.Identity, foreign map[rules.Identity]string) rules.Live {
	child := r.observed.find(id)
	if child == nil {
		return rules.Live{}
	}
	if other := holder(child, o); other != nil {
		foreign[id] = fmt.Sprintf("%s %q controls it (%s)", other.Kind, other.Name, child.File)
		return rules.Live{}
	}
	return rules.Live{Object: child.Object}
}

// rule adds the result of one rule.
func (r *Renderer) rule(o *files.Object, result *rules.RuleResult, foreign map[rules.Identity]string) {
	if err := result.Err; err != nil {
		at := ""
		if err.Reason == rules.InvalidSpec { // The message comes from the author of the rules. Other errors have a position.
			at = fmt.Sprintf("rule %q (%s:%d): ", result.Rule.Name, result.Rule.Pos.File, result.Rule.Pos.Line)
		}
		r.fail(o, "%s%v", at, err)
		return
	}
	for i := range result.Children {
		// While a resource is being deleted, only finalize renders objects.
		// Otherwise only children do.
		if c := &result.Children[i]; result.Teardown == (c.Child.Timeout > 0) {
			r.children(o, result.Rule, c, foreign)
		}
	}
	for i := range result.StatusErrs {
		r.fail(o, "%v", &result.StatusErrs[i])
	}
	for _, w := range result.StatusWaits {
		r.tell(o, "rule %q, %s: waits for %s", result.Rule.Name, w.Field, strings.Join(w.Waits, ", "))
	}
}

// children adds the objects of one child. If it has none, it prints the reason.
func (r *Renderer) children(o *files.Object, rule *rules.Rule, c *rules.ChildResult, foreign map[rules.Identity]string) {
	name := fmt.Sprintf("rule %q, child %q", rule.Name, c.Child.ID)
	place := fmt.Sprintf("%s:%d", c.Child.Pos.File, c.Child.Pos.Line)
	if r.absent(o, name, place, c.State, c.Waits, c.Err) {
		return
	}
	for i := range c.Objects {
		r.child(o, rule, &c.Objects[i], foreign)
	}
}

// absent reports whether a child renders nothing, and prints why.
func (r *Renderer) absent(o *files.Object, name, place string, state rules.State, waits []string, err error) bool {
	switch state {
	case rules.Excluded:
		r.tell(o, "%s (%s): excluded", name, place)
	case rules.Waiting:
		r.tell(o, "%s (%s): waits for %s", name, place, strings.Join(waits, ", "))
	case rules.Failed:
		r.fail(o, "%v", err)
	default:
		return false
	}
	return true
}

func (r *Renderer) child(o *files.Object, rule *rules.Rule, d *rules.Desired, foreign map[rules.Identity]string) {
	name := fmt.Sprintf("rule %q, %s", rule.Name, d.Subject())
	place := fmt.Sprintf("%s:%d", d.Child.Pos.File, d.Child.Pos.Line)
	if r.absent(o, name, place, d.State, d.Waits, d.Err) {
		return
	}
	content, err := applied(d)
	if err != nil {
		r.fail(o, "%s (%s): %v", name, place, err)
		return
	}
	child := &files.Object{File: d.Child.Pos.File}
	child.Object = content
	if why := r.refusal(o, child, d, foreign); why != "" {
		r.fail(o, "%s (%s): %s", name, place, why)
		return
	}
	if len(d.Waits) > 0 {
		r.tell(o, "%s (%s): not applied yet: waits for %s", name, place, strings.Join(d.Waits, ", "))
	}
	r.items = append(r.items, item{comment: fmt.Sprintf("# %s (%s)", name, place), object: content})
}

// refusal returns why run would not apply a child, or "".
func (r *Renderer) refusal(o, child *files.Object, d *rules.Desired, foreign map[rules.Identity]string) string {
	id := identity(child)
	if why := foreign[id]; why != "" {
		return fmt.Sprintf("%s exists, and %s", child, why)
	}
	gk := id.GVK.GroupKind()
	switch scope, allowed := r.kinds.Scope(gk), d.Child.Allowed(); {
	case scope == schema.ClusterScoped && !allowed:
		return fmt.Sprintf("%s is cluster-scoped: the rule may write it only if allow.clusterScoped names it", gk.Kind)
	case scope == schema.Namespaced && allowed:
		return fmt.Sprintf("%s is namespaced: remove it from allow.clusterScoped", gk.Kind)
	case scope == schema.Namespaced && id.Namespace == "":
		return fmt.Sprintf("metadata.namespace is missing: %s is namespaced, and the resource is not", gk.Kind)
	}
	if other, made := r.made[id]; made {
		return fmt.Sprintf("%s is already rendered for %s", child, other)
	}
	r.made[id] = o.String()
	return ""
}

// TellUnread names observed objects that no rule has read. A wrong name or
// namespace would otherwise look like a child that does not exist.
func (r *Renderer) TellUnread() {
	for _, o := range r.observed.unread() {
		r.say("%s: %s is not used: it is not a child, and no lookup reads it", o.File, o)
	}
}

// primary returns the rules for a resource. If it has none, it returns the reason.
func (r *Renderer) primary(o *files.Object) (*rules.Primary, string) {
	gvk := o.GroupVersionKind()
	for _, p := range r.program.Primaries() {
		if p.GVK == gvk {
			return p, ""
		}
		if p.GVK.GroupKind() == gvk.GroupKind() {
			return nil, fmt.Sprintf("no rule is for version %s of its kind: rule %q is for %s", gvk.Version, p.Rules[0].Name, p.GVK.Version)
		}
	}
	var known []runtimeschema.GroupKind
	for _, p := range r.program.Primaries() {
		known = append(known, p.GVK.GroupKind())
	}
	return nil, fmt.Sprintf("no rule is for %s%s", gvk.GroupKind(), meantKind(gvk.GroupKind(), known))
}
