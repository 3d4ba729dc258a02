package cli

import (
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/cli/internal/files"
	"reconcel/rules"
	"reconcel/rules/schema"
)

// A renderer renders resources one after the other, tells what hinders it and
// keeps what comes out.
type renderer struct {
	app      *app
	program  *rules.Program
	kinds    kinds
	observed *observed
	out      rules.Rendering

	own      *item                            // what the rules write into the resource at hand
	given    map[rules.Identity]*files.Object // resources so far
	made     map[rules.Identity]string        // children so far, and whose they are
	items    []item
	failures int
}

// An item is one object of the result.
type item struct {
	comment string
	object  map[string]any
}

// tell says something about a resource that is no failure.
func (r *renderer) tell(o *files.Object, format string, args ...any) {
	r.app.say("%s: %s", o, fmt.Sprintf(format, args...))
}

// fail says what is wrong with a resource.
func (r *renderer) fail(o *files.Object, format string, args ...any) {
	r.failures++
	r.tell(o, format, args...)
}

// resource renders one resource by all rules for it.
func (r *renderer) resource(o *files.Object) {
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
		r.tell(o, "%s%s: dropped, as the API server would: the CRD has no such field", field.Path, meant(field.Name, field.Have))
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
		matched = matched || result.Matches || result.Leaving || result.Err != nil
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

// observeSelf gives a resource without a status the one that it is observed
// with. Everything else about it comes from where it was given, and neither
// happens in silence.
func (r *renderer) observeSelf(o *files.Object) {
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

// live answers what the rules ask about a child. One that somebody else
// controls is none of the resource's.
func (r *renderer) live(o *files.Object, id rules.Identity, foreign map[rules.Identity]string) rules.Live {
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

// rule keeps what one rule makes of a resource.
func (r *renderer) rule(o *files.Object, result *rules.RuleResult, foreign map[rules.Identity]string) {
	if err := result.Err; err != nil {
		at := ""
		if err.Reason == rules.InvalidSpec { // The author's message; others name their place.
			at = fmt.Sprintf("rule %q (%s:%d): ", result.Rule.Name, result.Rule.Pos.File, result.Rule.Pos.Line)
		}
		r.fail(o, "%s%v", at, err)
		return
	}
	for i := range result.Children {
		// Of a resource that is being deleted only finalize makes anything, and
		// of one that is not, only children.
		if c := &result.Children[i]; result.Leaving == (c.Child.Timeout > 0) {
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

// children keeps the objects of one child, or says why there are none.
func (r *renderer) children(o *files.Object, rule *rules.Rule, c *rules.ChildResult, foreign map[rules.Identity]string) {
	name := fmt.Sprintf("rule %q, child %q", rule.Name, c.Child.ID)
	place := fmt.Sprintf("%s:%d", c.Child.Pos.File, c.Child.Pos.Line)
	switch c.State {
	case rules.Excluded:
		r.tell(o, "%s (%s): excluded", name, place)
	case rules.Waiting:
		r.tell(o, "%s (%s): waits for %s", name, place, strings.Join(c.Waits, ", "))
	case rules.Failed:
		r.fail(o, "%v", c.Err)
	default:
		for i := range c.Objects {
			r.child(o, rule, &c.Objects[i], foreign)
		}
	}
}

func (r *renderer) child(o *files.Object, rule *rules.Rule, d *rules.Desired, foreign map[rules.Identity]string) {
	name := fmt.Sprintf("rule %q, %s", rule.Name, d.Subject())
	place := fmt.Sprintf("%s:%d", d.Child.Pos.File, d.Child.Pos.Line)
	waits := strings.Join(d.Waits, ", ")
	switch d.State {
	case rules.Excluded:
		r.tell(o, "%s (%s): excluded", name, place)
		return
	case rules.Waiting:
		r.tell(o, "%s (%s): waits for %s", name, place, waits)
		return
	case rules.Failed:
		r.fail(o, "%v", d.Err)
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
	if waits != "" {
		r.tell(o, "%s (%s): not applied yet: waits for %s", name, place, waits)
	}
	r.items = append(r.items, item{comment: fmt.Sprintf("# %s (%s)", name, place), object: content})
}

// refusal says why run would not apply a child, or "".
func (r *renderer) refusal(o, child *files.Object, d *rules.Desired, foreign map[rules.Identity]string) string {
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

// patch keeps what a rule writes into the resource itself.
func (r *renderer) patch(o *files.Object, result *rules.RuleResult) {
	name := fmt.Sprintf("rule %q, patch", result.Rule.Name)
	switch {
	case result.PatchErr != nil:
		r.fail(o, "%v", result.PatchErr)
		return
	case len(result.PatchWaits) > 0:
		r.tell(o, "%s: waits for %s", name, strings.Join(result.PatchWaits, ", "))
		return
	case len(result.Patch) == 0:
		return
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(result.Patch, &content); err != nil {
		r.fail(o, "%s: %v", name, err)
		return
	}
	r.write(o, fmt.Sprintf("# patch of %s by rule %q", o, result.Rule.Name), content)
}

// write keeps something that is written into the resource itself. All of that
// is one object of the result, so that there are no two of one name.
func (r *renderer) write(o *files.Object, comment string, content map[string]any) {
	if r.own == nil {
		metadata := map[string]any{"name": o.GetName()}
		if o.GetNamespace() != "" {
			metadata["namespace"] = o.GetNamespace()
		}
		r.own = &item{object: map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": metadata}}
	} else {
		comment = "\n" + comment
	}
	r.own.comment += comment
	mergeInto(r.own.object, content)
}

// mergeInto adds what is in src, maps entry by entry.
func mergeInto(dst, src map[string]any) {
	for key, value := range src {
		inner, isMap := value.(map[string]any)
		if old, both := dst[key].(map[string]any); isMap && both {
			mergeInto(old, inner)
			continue
		}
		dst[key] = value
	}
}

// status keeps what all rules together say about a resource's status.
func (r *renderer) status(o *files.Object) {
	status := map[string]any{}
	var conditions []any
	for i := range r.out.Rules {
		result := &r.out.Rules[i]
		if len(result.Status) > 0 {
			// Two rules never write one field, so that nothing is lost here.
			if err := utiljson.Unmarshal(result.Status, &status); err != nil {
				r.fail(o, "rule %q: status: %v", result.Rule.Name, err)
				return
			}
		}
		for _, c := range result.Conditions {
			conditions = append(conditions, condition(c))
		}
	}
	if len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return
	}
	r.write(o, fmt.Sprintf("# status of %s", o), map[string]any{"status": status})
}

// condition returns a condition as it stands in a status, but for its times:
// they would make every rendering another one.
func condition(c rules.Condition) map[string]any {
	entry := map[string]any{"type": c.Type, "status": string(c.Status), "reason": c.Reason}
	if c.Message != "" {
		entry["message"] = c.Message
	}
	return entry
}

// tellUnread names what was observed in vain: a name or namespace that is
// wrong there would otherwise look like a child that does not exist.
func (r *renderer) tellUnread() {
	for _, o := range r.observed.unread() {
		r.app.say("%s: %s is not used: it is not a child, and no lookup reads it", o.File, o)
	}
}
