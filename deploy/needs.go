package deploy

import (
	"fmt"
	"slices"
	"strings"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// An Admission says which permissions the cluster's admission plugins require
// beyond RBAC's own checks.
type Admission int

// The values of Admission.
const (
	Usual          Admission = iota // the plugins that Kubernetes enables by default
	EnforcedOwners                  // OwnerReferencesPermissionEnforcement is enabled too
)

// Needs derives the permissions that the engine needs to run a program. The errors
// are about unknown kinds: their resource names cannot be guessed.
func Needs(program *rules.Program, kinds *schema.Set, admission Admission) (*Permissions, []*source.Error) {
	n := &needs{kinds: kinds, admission: admission, permissions: newPermissions()}
	for _, p := range program.Primaries() {
		n.primary(p)
		for _, r := range p.Rules {
			n.children(r)
			n.lookups(r)
		}
	}
	n.permissions.need(eventsTarget, toTell, "Event: reports what reconcel does")
	n.permissions.bundles = Bundles(program)
	return n.permissions, n.complaints
}

type needs struct {
	kinds       *schema.Set
	admission   Admission
	permissions *Permissions
	unknown     []runtimeschema.GroupVersionKind
	complaints  []*source.Error
}

// kind returns a kind that a rule uses, or nil with a complaint if it is unknown.
func (n *needs) kind(gvk runtimeschema.GroupVersionKind, at source.Pos, rule string) *schema.Kind {
	if k := n.kinds.Kind(gvk); k != nil && k.Resource != "" {
		return k
	}
	if slices.Contains(n.unknown, gvk) {
		return nil // Report each kind once.
	}
	n.unknown = append(n.unknown, gvk)
	message := fmt.Sprintf("kind %s of %s is unknown", gvk.Kind, gvk.GroupVersion())
	hint := "give its CustomResourceDefinition with --crd"
	if others := n.kinds.Versions(gvk.GroupKind()); len(others) > 0 {
		var versions []string
		for _, k := range others {
			versions = append(versions, k.GVK.Version)
		}
		message += ", only version " + strings.Join(versions, ", ")
		hint = "or give a newer CustomResourceDefinition with --crd"
	}
	n.complaints = append(n.complaints, source.NewError(at, rule, message, hint))
	return nil
}

func targetOf(k *schema.Kind) Target { return Target{Group: k.GVK.Group, Resource: k.Resource} }

func (t Target) sub(subresource string) Target {
	t.Subresource = subresource
	return t
}

// primary adds the permissions for the primaries of rules.
func (n *needs) primary(p *rules.Primary) {
	if p.ForCluster() {
		return // The ConfigMaps of bundles are the installation's own objects.
	}
	k := n.kind(p.GVK, p.Rules[0].Pos, p.Rules[0].Name)
	if k == nil {
		return
	}
	say := func(what string, has func(*rules.Rule) bool) (string, bool) {
		var names []string
		for _, r := range p.Rules {
			if has(r) {
				names = append(names, r.Name)
			}
		}
		return fmt.Sprintf("%s: %s %s", k.GVK.Kind, what, ruleNames(names)), len(names) > 0
	}
	at := targetOf(k)
	why, _ := say("primary of", func(*rules.Rule) bool { return true })
	n.permissions.need(at, toFollow, why)
	// The engine reads the live primary before it deletes or orphans anything, and where a write of the primary
	// itself is rejected or overtaken.
	if n.hasConditions(k) || slices.ContainsFunc(p.Rules, func(r *rules.Rule) bool {
		return len(r.Children) > 0 || !r.Selector.Empty() || r.WritesPrimary() || len(r.StatusKeys) > 0
	}) {
		n.permissions.need(at, toRead, why)
	}
	if why, some := say("carries a finalizer of", func(r *rules.Rule) bool { return needsFinalizer(r, k) }); some {
		n.permissions.need(at, toPatch, why)
	}
	if why, some := say("remembers what is done by", (*rules.Rule).Remembers); some {
		n.permissions.need(at, toPatch, why)
	}
	n.written(p, at, toPatch, k.GVK.Kind+": is patched by", (*rules.Rule).Patches)
	if why, some := say("carries the annotation "+rules.AnnotationStatus+" of",
		func(r *rules.Rule) bool { return r.Annotates }); some && !n.hasConditions(k) {
		n.permissions.need(at, toPatch, why)
	}
	n.status(p, k)
	if n.admission == EnforcedOwners {
		n.written(p, at.sub("finalizers"), []string{"update"}, k.GVK.Kind+": is named in owner references by",
			hasOwnerReferences)
	}
}

// written adds the permissions for a write of rules, to the ServiceAccount of each
// rule or to the engine.
func (n *needs) written(p *rules.Primary, at Target, verbs []string, what string, has func(*rules.Rule) bool) {
	by := map[*Permissions][]string{}
	for _, r := range p.Rules {
		switch {
		case !has(r):
		case r.Account == nil:
			by[n.permissions] = append(by[n.permissions], r.Name)
		default:
			who := n.account(r).Permissions
			by[who] = append(by[who], r.Name)
		}
	}
	for who, names := range by {
		who.need(at, verbs, what+" "+ruleNames(names))
	}
}

// needsFinalizer reports whether objects of a kind may have the finalizer of a rule. A
// cluster-scoped primary can own all its children by owner references.
func needsFinalizer(r *rules.Rule, k *schema.Kind) bool {
	return r.MayNeedFinalizer() && (k.Namespaced || r.OrdersTeardown() || r.Shares())
}

// hasOwnerReferences reports whether children of a rule may have owner references.
func hasOwnerReferences(r *rules.Rule) bool {
	return slices.ContainsFunc(r.Children, (*rules.Child).MayHaveOwnerReference)
}

// status adds the permissions to write the status: the fields that rules write, and
// the conditions of every custom resource whose schema has them.
func (n *needs) status(p *rules.Primary, k *schema.Kind) {
	var what []string
	if n.hasConditions(k) {
		what = append(what, "conditions")
	}
	var fields []string
	for _, r := range p.Rules {
		for _, key := range r.StatusKeys {
			if !slices.Contains(fields, key) {
				fields = append(fields, key)
			}
		}
	}
	slices.Sort(fields)
	if what = append(what, fields...); len(what) == 0 {
		return
	}
	at := targetOf(k)
	if k.Status {
		at = at.sub("status")
	}
	n.permissions.need(at, toPatch, fmt.Sprintf("%s: its status: %s", k.GVK.Kind, strings.Join(what, ", ")))
}

// hasConditions reports whether objects of a kind get conditions from the
// engine.
func (n *needs) hasConditions(k *schema.Kind) bool {
	return !schema.BuiltInGroup(k.GVK.Group) && n.kinds.Conditions(k.GVK) != nil
}

// children adds the permissions for the children of a rule.
func (n *needs) children(r *rules.Rule) {
	for _, c := range r.Children {
		what := "child"
		if c.Timeout > 0 {
			what = "entry of finalize"
		}
		if k := n.kind(c.GVK, c.Pos, r.Name); k != nil {
			why := fmt.Sprintf("%s: %s %q of rule %q", k.GVK.Kind, what, c.ID, r.Name)
			if r.Account == nil {
				n.permissions.need(targetOf(k), toKeep, why)
				continue
			}
			n.permissions.need(targetOf(k), toSee, why)
			n.account(r).need(targetOf(k), toWrite, why)
		}
	}
}

// lookups adds the permissions for the lookups of a rule.
func (n *needs) lookups(r *rules.Rule) {
	for _, l := range r.Lookups {
		if k := n.kind(l.GVK, l.Pos, r.Name); k != nil {
			n.permissions.need(targetOf(k), toFollow, fmt.Sprintf("%s: lookup %q of rule %q", k.GVK.Kind, l.ID, r.Name))
		}
	}
}
