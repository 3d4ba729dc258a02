package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/fields"
	"reconcel/cli/internal/output"
	"reconcel/engine/access"
	"reconcel/engine/outcome"
	"reconcel/engine/preview"
)

// orphaned is the action of an object that stays although no rule maintains it.
const orphaned outcome.Action = "orphaned"

// A builder adds up the changes of primaries.
type builder struct {
	Report
	kinds      map[[2]string]*KindCount
	conditions map[ConditionChange]int
	groups     map[string]*Group
	doers      map[change.Object]change.Doer
	changed    map[string]bool            // primaries
	claimed    map[change.Object]bool     // changed children
	undone     map[change.Object]string   // the rules of changes that wait or fail, by object
	risky      map[string]map[string]bool // primaries with a risk, by rule
	stopped    map[string][]string        // primaries that are paused or being deleted
}

func newBuilder() *builder {
	return &builder{
		kinds: map[[2]string]*KindCount{}, conditions: map[ConditionChange]int{}, groups: map[string]*Group{},
		doers: map[change.Object]change.Doer{}, changed: map[string]bool{}, claimed: map[change.Object]bool{},
		undone: map[change.Object]string{}, risky: map[string]map[string]bool{}, stopped: map[string][]string{},
	}
}

// add adds what happens to one primary.
func (b *builder) add(r result) {
	b.fail(r.Errs)
	b.Already += r.already
	r.RejectDuplicates(b.doers)
	if why := r.Stopped(); why != "" {
		b.stopped[why] = append(b.stopped[why], r.Object().String())
	}
	counted := map[change.Object]bool{}
	for i := range r.Changes {
		b.change(&r.Changes[i], counted)
	}
	for _, o := range r.Report.Orphans {
		b.orphan(o)
	}
}

// fail adds errors, each once.
func (b *builder) fail(errs []error) {
	for _, err := range errs {
		if text := output.Printable(err.Error()); !slices.Contains(b.Errors, text) {
			b.Errors = append(b.Errors, text)
		}
	}
}

// change adds one change. Of several changes of parts of one object, the first counts.
func (b *builder) change(c *change.Change, counted map[change.Object]bool) {
	action := actionOf(c)
	switch {
	case action == outcome.Unchanged:
		return
	case !action.IsDifference():
		b.undone[c.Object] = c.Rule
		b.group(c, action)
		return
	}
	b.changed[c.Primary.String()] = true
	if c.Child != "" {
		b.claimed[c.Object] = true
	}
	if c.Part == change.StatusPart {
		b.count(c.Object, "status")
		b.condition(c)
	} else if !counted[c.Object] {
		counted[c.Object] = true
		b.count(c.Object, action)
	}
	b.group(c, action)
}

func (b *builder) count(o change.Object, action outcome.Action) {
	if action == outcome.Extended {
		action = outcome.Configured
	}
	for _, c := range columns {
		if c.action != action {
			continue
		}
		key := [2]string{o.APIVersion, o.Kind}
		if b.kinds[key] == nil {
			b.kinds[key] = &KindCount{APIVersion: o.APIVersion, Kind: o.Kind}
		}
		*c.of(b.kinds[key])++
	}
}

// orphan adds an object that stays although no rule maintains it. Several owners may share it.
func (b *builder) orphan(o access.Orphan) {
	if !b.claimed[change.ObjectWithID(o.Object)] {
		b.left(o, orphaned, "")
	}
}

// left adds what happens to an object that no rule maintains.
func (b *builder) left(o access.Orphan, action outcome.Action, why string) {
	b.change(&change.Change{
		Primary: change.Object{Kind: o.Primary.Kind.Kind, Namespace: o.Primary.Namespace, Name: o.Primary.Name},
		Rule:    o.Rule, Child: o.Child, Object: change.ObjectWithID(o.Object), Action: action, Reason: why,
	}, map[change.Object]bool{})
}

// ended adds an object of a rule that is removed, unless it is deleted at once, its deletion fails, or another rule
// has it now.
func (b *builder) ended(o preview.Ended) {
	object := change.ObjectWithID(o.Object)
	switch {
	case b.claimed[object]:
	case !o.Deleted:
		b.orphan(o.Orphan)
	case b.undone[object] != o.Rule:
		b.left(o.Orphan, outcome.Deleted, "its rule is removed")
	}
}

// condition adds the conditions that differ in a status.
func (b *builder) condition(c *change.Change) {
	before, after := conditionsOf(c.Before), conditionsOf(c.After)
	types := maps.Clone(before)
	maps.Copy(types, after)
	for name := range types {
		if fmt.Sprint(before[name]) != fmt.Sprint(after[name]) {
			b.conditions[ConditionChange{
				APIVersion: c.Object.APIVersion, Kind: c.Object.Kind, Type: name, Before: statusOf(before[name]),
				After: statusOf(after[name]),
			}]++
		}
	}
}

func conditionsOf(object map[string]any) map[string]map[string]any {
	all := map[string]map[string]any{}
	status, _ := object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if name, ok := entry["type"].(string); ok {
			all[name] = entry
		}
	}
	return all
}

func statusOf(condition map[string]any) string {
	text, _ := condition["status"].(string)
	return text
}

// mostGroups limits the groups by fields. Further changes are grouped without their fields.
const mostGroups = 500

// group adds a change to its group.
func (b *builder) group(c *change.Change, action outcome.Action) {
	var changed []fields.Change
	if action == outcome.Configured || action == outcome.Replaced || action.TakesForeign() {
		changed = fields.Changed(c.Before, c.After)
	}
	risk := riskOf(c)
	if risk != "" {
		if b.risky[c.Rule] == nil {
			b.risky[c.Rule] = map[string]bool{}
		}
		b.risky[c.Rule][c.Primary.String()] = true
	}
	key := strings.Join([]string{string(action), c.Object.APIVersion, c.Object.Kind, string(c.Part), c.Rule, c.Child,
		string(risk)}, "\x00")
	exact := key
	for _, f := range changed {
		exact += "\x00" + f.Path
	}
	if b.groups[exact] == nil && len(b.groups) >= mostGroups {
		exact, changed = key, nil
	}
	g := b.groups[exact]
	if g == nil {
		g = &Group{Action: action, APIVersion: c.Object.APIVersion, Kind: c.Object.Kind, Part: string(c.Part), Rule: c.Rule,
			Child: c.Child, Risk: risk, Objects: []string{}}
		for _, f := range changed {
			g.Fields = append(g.Fields, &Field{Path: f.Path})
		}
		if risk != "" && c.Print() == nil {
			g.Diff = c.Diff
		}
		b.groups[exact] = g
	}
	g.Count++
	g.Objects = append(g.Objects, pathOf(c.Object))
	if c.Reason != "" && c.Later == "" {
		g.Reasons.add(c.Reason)
	}
	for i, f := range changed {
		g.Fields[i].Values.add(f.Values)
	}
}

// actionOf returns what is done to an object, now or in a later step.
func actionOf(c *change.Change) outcome.Action { return cmp.Or(c.Later, c.Action) }

func pathOf(o change.Object) string { return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/") }

// finish returns the report.
func (b *builder) finish() *Report {
	r := &b.Report
	r.Resources.Changed = len(b.changed)
	r.Kinds = slices.AppendSeq([]*KindCount{}, maps.Values(b.kinds))
	slices.SortFunc(r.Kinds, func(x, y *KindCount) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.APIVersion, y.APIVersion))
	})
	for change, n := range b.conditions {
		change.Count = n
		r.Conditions = append(r.Conditions, change)
	}
	slices.SortFunc(r.Conditions, func(x, y ConditionChange) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Type, y.Type), cmp.Compare(x.Before, y.Before),
			cmp.Compare(x.After, y.After))
	})
	r.Risks, r.Changes = []*Group{}, []*Group{}
	for _, key := range slices.Sorted(maps.Keys(b.groups)) {
		switch g := b.groups[key]; {
		case !g.Action.IsDifference():
			r.Pending = append(r.Pending, g)
		case g.Risk != "":
			r.Risks = append(r.Risks, g)
		default:
			r.Changes = append(r.Changes, g)
		}
	}
	bySize := func(x, y *Group) int { return cmp.Compare(y.Count, x.Count) }
	slices.SortStableFunc(r.Risks, func(x, y *Group) int {
		return cmp.Or(cmp.Compare(slices.Index(riskOrder, x.Risk), slices.Index(riskOrder, y.Risk)), bySize(x, y))
	})
	slices.SortStableFunc(r.Changes, bySize)
	slices.SortStableFunc(r.Pending, bySize)
	for _, why := range slices.Sorted(maps.Keys(b.stopped)) {
		names := b.stopped[why]
		r.Notes = append(r.Notes, fmt.Sprintf("%d resources are %s: %s", len(names), why, firstNames(names, mostNames)))
	}
	return r
}
