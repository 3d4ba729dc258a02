package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/deploy"
	"reconcel/engine/outcome"
	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// describe adds what follows from the rules alone, and what the plan cannot know.
func (c *comparison) describe(ctx context.Context, schemas *kindschema.Set) {
	r := &c.report.Report
	r.Against, r.Rules = c.running.from, c.running.change(c.Rules.Program)
	for _, p := range c.Rules.Program.Primaries() {
		if k, err := c.Cluster.Find(ctx, p.GVK); k == nil && err == nil {
			c.Note("the API server does not serve %s, kind %s: there is nothing to plan", p.GVK.GroupVersion(), p.GVK.Kind)
		}
	}
	r.Notes = append(r.Notes, c.Notes...)
	r.Unknown = append(r.Unknown, c.unknown()...)
	if c.running.program == nil {
		return
	}
	now, _ := deploy.Needs(c.Rules.Program, schemas, deploy.Usual)
	then, unknown := deploy.Needs(c.running.program, schemas, deploy.Usual)
	if len(unknown) > 0 {
		r.Unknown = append(r.Unknown, "which permissions are no longer needed for kinds that the cluster does not serve")
	}
	if p := (Permissions{Added: now.Lacking(then), Removed: then.Lacking(now)}); len(p.Added)+len(p.Removed) > 0 {
		r.Permissions = &p
	}
	r.NewKinds = newKinds(c.running.program, c.Rules.Program)
}

// unknown returns what the plan cannot know.
func (c *comparison) unknown() (all []string) {
	if c.Local {
		all = append(all,
			"which writes the API server, a webhook or a policy rejects",
			"what the API server or a webhook adds to objects, such as defaults in new objects",
			"which fields cannot be changed")
	}
	if c.running.program == nil {
		all = append(all,
			"what the running rules do anyway: it is part of the plan",
			"which permissions are no longer needed, and which kinds are new")
	}
	resources, followed := primariesOf(c.Rules.Program), map[string]bool{}
	starts := false
	for _, g := range c.report.groups {
		starts = starts || g.Action == outcome.Created || g.Action == outcome.Replaced
		gk := schema.FromAPIVersionAndKind(g.APIVersion, g.Kind).GroupKind()
		if g.Child != "" && g.Action.IsDifference() && g.Action != orphaned && resources[gk] != nil {
			followed[g.Kind] = true
		}
	}
	if starts {
		all = append(all, "how the status of resources changes when new and replaced objects become ready")
	}
	for _, kind := range slices.Sorted(maps.Keys(followed)) {
		all = append(all, "what other rules do for each "+kind+" that changes here")
	}
	return all
}

// newKinds returns the kinds that only the new rules use.
func newKinds(before, after *rules.Program) (names []string) {
	old, now := usedKinds(before), usedKinds(after)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old[name] == "" {
			names = append(names, name+": "+now[name])
		}
	}
	return names
}

// usedKinds returns the kinds that rules use, with what for.
func usedKinds(program *rules.Program) map[string]string {
	all := map[string]string{}
	use := func(gvk schema.GroupVersionKind, as string) {
		name := gvk.Kind + " (" + gvk.GroupVersion().String() + ")"
		all[name] = cmp.Or(all[name], as)
	}
	for _, p := range program.Primaries() {
		use(p.GVK, "resource")
		for _, r := range p.Rules {
			for _, gvk := range r.ChildKinds() {
				use(gvk, "child")
			}
			for _, l := range r.Lookups {
				use(l.GVK, "lookup")
			}
		}
	}
	return all
}

// proposeRollouts notes which changed rules put several resources at risk at once.
func (c *comparison) proposeRollouts() {
	for _, primary := range c.Rules.Program.Primaries() {
		for _, r := range primary.Rules {
			if n := len(c.report.risky[r.Name]); n > 1 && !r.Rollout.InWaves() && !r.ForCluster() {
				c.report.Notes = append(c.report.Notes, fmt.Sprintf("rule %s takes these risks for %d resources at once; "+
					"rollout: {maxUnavailable: 1} changes one after another, and pauses when one fails", r.Name, n))
			}
		}
	}
}
