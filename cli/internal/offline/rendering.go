package offline

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/cli/internal/files"
	"reconcel/engine/managedfields"
	"reconcel/rules"
	"reconcel/rules/schema"
)

// A rendering is what the rules render for one resource in one round.
type rendering struct {
	*Renderer
	report
	round   *round
	self    *files.Object
	items   []item
	own     *item                     // what the rules write into the resource itself
	foreign map[rules.Identity]string // objects that something else controls
}

// render adds the children, and then what the rules write into the resource itself.
func (r *rendering) render(primary *rules.Primary) {
	var out rules.Rendering
	primary.Render(rules.Input{Self: r.self.Unstructured.Object, Now: r.time, Observed: r.live, Owned: r.owned,
		Lookup: r.lookup, Numbers: r.numbers}, &out)
	matched := false
	for i := range out.Rules {
		result := &out.Rules[i]
		matched = matched || result.Matches || result.Teardown || result.Err != nil
		r.rule(result)
	}
	for i := range out.Rules {
		if next := out.Rules[i].Next; !next.IsZero() {
			r.note("rule %q: the next gate opens in %s", out.Rules[i].Rule.Name, next.Sub(r.time))
		}
	}
	if !matched {
		r.note("no rule selects it: for.namespaces, for.selector or for.when does not match")
		return
	}
	for i := range out.Rules {
		r.patch(&out.Rules[i])
	}
	r.status(out.Rules)
	if r.own != nil {
		r.items = append(r.items, *r.own)
		if fields := r.placeholders("", r.own.object); len(fields) > 0 {
			r.note("%s: %s", strings.Join(fields, ", "), hasPlaceholder)
		}
	}
}

// rule adds the result of one rule.
func (r *rendering) rule(result *rules.RuleResult) {
	if err := result.Err; err != nil {
		at := ""
		if result.Invalid { // The message comes from the author of the rules. Other errors have a position.
			at = fmt.Sprintf("rule %q (%s:%d): ", result.Rule.Name, result.Rule.Pos.File, result.Rule.Pos.Line)
		}
		r.fail("%s%v", at, err)
		return
	}
	for i := range result.Children {
		// While a resource is being deleted, only finalize renders objects, and
		// children exist until it is done. Otherwise only children render objects.
		switch c := &result.Children[i]; {
		case result.Teardown == (c.Child.Timeout > 0):
			r.collection(c)
		case result.Teardown:
			r.remaining(c)
		}
	}
	for i := range result.StatusErrs {
		r.fail("%v", &result.StatusErrs[i])
	}
	for _, w := range result.StatusWaits {
		r.note("rule %q, %s: waits for %s", result.Rule.Name, w.Field, strings.Join(w.Waits, ", "))
	}
}

// collection adds the objects of one child. If it has none, it prints the reason.
func (r *rendering) collection(c *rules.ChildResult) {
	subject := subjectOf(c.Child, fmt.Sprintf("child %q", c.Child.ID))
	if r.isAbsent(subject, c.State, c.ExcludedWith(), c.Waits, c.Err) {
		return
	}
	for i := range c.Objects {
		r.child(&c.Objects[i])
	}
}

// remaining adds the objects of a child to those that exist, without showing them.
func (r *rendering) remaining(c *rules.ChildResult) {
	for i := range c.Objects {
		if d := &c.Objects[i]; c.State == rules.Rendered && d.State == rules.Rendered {
			if content, err := r.content(d); err == nil {
				_ = r.apply(&files.Object{Unstructured: unstructured.Unstructured{Object: content}, File: d.Child.Pos.File})
			}
		}
	}
}

// apply adds an object to those that exist in the next round.
func (r *rendering) apply(o *files.Object) error {
	stored, err := r.stored(o)
	if err == nil {
		r.round.applied = append(r.round.applied, stored)
	}
	return err
}

// child adds one object of a child.
func (r *rendering) child(d *rules.Desired) {
	subject := subjectOf(d.Child, d.Subject())
	if r.isAbsent(subject, d.State, d.ExcludedWith(), d.Waits, d.Err) {
		return
	}
	content, err := r.content(d)
	if err != nil {
		r.fail("%s: %v", subject, err)
		return
	}
	object := &files.Object{Unstructured: unstructured.Unstructured{Object: content}, File: d.Child.Pos.File}
	if r.shares(subject, object, d.Child) {
		return
	}
	if why := r.rejected(object, d.Child); why != "" {
		r.fail("%s: %s", subject, why)
		return
	}
	if err := r.apply(object); err != nil {
		r.fail("%s: %v", subject, err)
		return
	}
	if len(d.Waits) > 0 {
		r.note("%s: not applied yet: waits for %s", subject, strings.Join(d.Waits, ", "))
	}
	withoutPlaceholderOwner(content)
	if keys := withoutGenerated(content, d.Child); len(keys) > 0 {
		r.note("%s: %s: left out: reconcel run generates the value", subject, strings.Join(keys, ", "))
	}
	r.items = append(r.items, item{comment: "# " + subject, object: content})
	if fields := r.placeholders("", content); len(fields) > 0 {
		r.note("%s: %s: %s", subject, strings.Join(fields, ", "), hasPlaceholder)
	}
}

const hasPlaceholder = "contains a placeholder: the cluster assigns the value"

// subjectOf names a child in a message, with its rule and position.
func subjectOf(c *rules.Child, what string) string {
	return fmt.Sprintf("rule %q, %s (%s:%d)", c.Rule.Name, what, c.Pos.File, c.Pos.Line)
}

// isAbsent reports whether a child renders nothing, and prints why.
func (r *rendering) isAbsent(subject string, state rules.State, with string, waits []string, err error) bool {
	switch state {
	case rules.Excluded:
		r.note("%s", strings.TrimSuffix(subject+": excluded: "+with, ": "))
	case rules.Waiting:
		r.note("%s: waits for %s", subject, strings.Join(waits, ", "))
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
	if other, exists := r.round.children[id]; exists {
		return fmt.Sprintf("%s is already rendered for %s", object, other.self)
	}
	r.round.children[id] = rendered{r.self, c, runtime.DeepCopyJSON(object.Unstructured.Object)}
	return ""
}

// shares reports whether the object is shared with a resource for which it is rendered
// already.
func (r *rendering) shares(subject string, object *files.Object, c *rules.Child) bool {
	other, exists := r.round.children[identity(object)]
	if !exists || !c.Shared || other.child != c || other.self == r.self {
		return false
	}
	if reflect.DeepEqual(other.content, object.Unstructured.Object) {
		r.note("%s: %s is shared with %s", subject, object, other.self)
		return true
	}
	differs := "their renderings differ"
	if fields := (managedfields.Set{}).Differing(other.content, object.Unstructured.Object); len(fields) > 0 {
		differs = slices.Min(fields) + " differs"
	}
	r.fail("%s: %s is shared with %s, but %s", subject, object, other.self, differs)
	return true
}

// content returns a child as an apply leaves it: ignored fields keep the values of an
// observed object.
func (r *rendering) content(d *rules.Desired) (map[string]any, error) {
	live := r.observed.byID[d.Identity]
	if live == nil {
		return d.Whole()
	}
	content, err := d.Object()
	if err != nil {
		return nil, err
	}
	for _, path := range d.IgnoredPaths() {
		value, found, err := unstructured.NestedFieldCopy(live.Unstructured.Object, path...)
		if err != nil || !found {
			continue // The live object does not have this field.
		}
		if err := unstructured.SetNestedField(content, value, path...); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// stored returns an object as it exists after it was created: with defaults, and with
// placeholders for what the API server would assign. Its status does not exist yet.
func (r *Renderer) stored(o *files.Object) (*files.Object, error) {
	u, err := r.server.Stored(&o.Unstructured)
	if err != nil {
		return nil, fmt.Errorf("the API server would reject it: %w", err)
	}
	out := &files.Object{Unstructured: *u, File: o.File}
	r.fillIdentity(out)
	return out, nil
}

// mostRounds is the number of rounds after which rules count as restless. Each round
// renders what reads the objects of the round before, so it is also the longest chain.
const mostRounds = 200

// A round is one rendering of all resources.
type round struct {
	exists   *cluster
	children map[rules.Identity]rendered // in this round
	applied  []*files.Object
}

// A rendered object has the resource and the child that it was rendered for first.
type rendered struct {
	self    *files.Object
	child   *rules.Child
	content map[string]any
}

// settle renders the resources again and again, each time with the objects of the round
// before, until nothing changes. It returns the last rendering of each resource.
func (r *Renderer) settle(resources []*resource) []*rendering {
	exists := r.observed
	var before []*files.Object
	for n := 1; ; n++ {
		this := &round{exists: exists, children: map[rules.Identity]rendered{}}
		results := r.play(this, resources)
		changed := firstChange(before, this.applied)
		if r.exists == ObservedOnly || changed == nil {
			return results
		}
		if n == mostRounds {
			for _, one := range results {
				one.fail("%s still changes after %d renderings: the rules do not converge", changed, n)
			}
			return results
		}
		exists, before = r.observed.with(selves(resources)).with(this.applied), this.applied
	}
}

// play renders all resources once.
func (r *Renderer) play(this *round, resources []*resource) (results []*rendering) {
	for _, of := range resources {
		one := &rendering{Renderer: r, report: report{about: of.about}, round: this, self: of.self,
			foreign: map[rules.Identity]string{}}
		if of.primary != nil {
			one.render(of.primary)
		}
		results = append(results, one)
	}
	return results
}

// selves returns the resources that have rules and exist.
func selves(resources []*resource) (all []*files.Object) {
	for _, one := range resources {
		if one.primary != nil && !one.primary.ForCluster() {
			all = append(all, one.self)
		}
	}
	return all
}

// firstChange returns an object in which two rounds differ, or nil.
func firstChange(before, after []*files.Object) *files.Object {
	for i, o := range after {
		if i == len(before) || !reflect.DeepEqual(before[i].Unstructured.Object, o.Unstructured.Object) {
			return o
		}
	}
	if len(before) > len(after) {
		return before[len(after)]
	}
	return nil
}
