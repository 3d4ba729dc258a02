package plan

import (
	"context"
	"maps"
	"slices"
	"strings"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/output"
	"reconcel/engine/inventory"
	"reconcel/rules"
)

// Running are the rules that run now.
type running struct {
	stored  inventory.Stored // of the installation
	program *rules.Program   // nil: the text of the rules is unknown
	active  map[string]string
	from    string // where the rules come from
}

// findRunning returns the rules that run now, as far as the cluster shows them.
func (c *comparison) findRunning(ctx context.Context) (r running, err error) {
	programs := []*rules.Program{c.Rules.Program}
	if c.Against != nil {
		programs = []*rules.Program{c.Against.Program, c.Rules.Program}
	}
	of := change.Installation{Named: c.Installation, Home: c.Home}
	if r.stored, err = c.Inventory(ctx, of, programs...); err != nil {
		return r, err
	}
	if r.active, err = r.stored.Active(); err != nil {
		return r, err
	}
	if c.Against == nil || c.AreSingle() {
		if err := r.stored.ReadTexts(ctx, c.Cluster.Client); err != nil {
			c.Note("the text of the running rules cannot be read: %v", err)
		}
		r.program = r.stored.Running()
	}
	against, err := c.KeepOthers(r.program, c.Against)
	if err != nil {
		return r, err
	}
	if c.Against != nil {
		r.program, r.from = against, c.AgainstName
		if d := changeOf(r.active, r.program); d != nil && len(d.Added)+len(d.Changed)+len(d.Removed) > 0 {
			others := slices.Sorted(slices.Values(slices.Concat(d.Added, d.Changed, d.Removed)))
			c.Note("other rules than those of %s run in the cluster: %s", c.AgainstName, strings.Join(others, ", "))
		}
		return r, nil
	}
	r.from = "the rules that run"
	switch {
	case r.program != nil:
	case len(r.active) > 0:
		r.from = "the live state, and the digests of the running rules"
		if c.AreSingle() {
			c.Note("the text of the running rules is unknown: rules that were removed from the objects in -f are not shown")
		}
	default:
		r.from = "the live state"
	}
	return r, nil
}

// change returns what differs between the rules that run and others, or nil if that is not known.
func (r *running) change(program *rules.Program) *RulesChange {
	if r.program != nil {
		return changeOf(inventory.Digests(r.program), program)
	}
	return changeOf(r.active, program)
}

// changeOf compares the names and digests of rules, or returns nil without any before.
func changeOf(before map[string]string, program *rules.Program) *RulesChange {
	if len(before) == 0 {
		return nil
	}
	c, after := &RulesChange{}, inventory.Digests(program)
	seen := map[string]bool{} // A rule may be for several kinds.
	for _, primary := range program.Primaries() {
		for _, rule := range primary.Rules {
			switch name := rule.Name; {
			case seen[name]:
			case before[name] == "":
				c.Added = append(c.Added, name)
			case before[name] == after[name]:
				c.Unchanged++
			default:
				c.Changed = append(c.Changed, name)
			}
			seen[rule.Name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] == "" && !program.Incomplete() {
			c.Removed = append(c.Removed, name)
		}
	}
	return c
}

// String returns the change in a few words.
func (c *RulesChange) String() string {
	var parts []string
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", c.Added}, {"changed", c.Changed}, {"removed", c.Removed}} {
		if len(part.names) > 0 {
			parts = append(parts, output.Plural(len(part.names), "rule")+" "+part.what+" ("+strings.Join(part.names, ", ")+")")
		}
	}
	if c.Unchanged > 0 || len(parts) == 0 {
		parts = append(parts, output.Plural(c.Unchanged, "rule")+" unchanged")
	}
	return strings.Join(parts, ", ")
}
