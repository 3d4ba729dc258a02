package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine"
	"reconcel/rules"
)

// patch compares what the rule writes into the primary itself.
func (d *ruleDiff) patch(ctx context.Context) {
	r, name := d.result, d.result.Rule.Name
	switch {
	case r.PatchErr != nil:
		d.failure(d.ofPrimary(), r.PatchErr)
	case len(r.PatchWaits) > 0:
		d.tell("rule %q, patch: %s", name, waitsFor(r.PatchWaits))
		d.skip(d.ofPrimary(), waitsFor(r.PatchWaits))
	case len(r.Patch) == 0:
		d.unpatch(ctx)
	default:
		var desired map[string]any
		if err := utiljson.Unmarshal(r.Patch, &desired); err != nil {
			d.fail(fmt.Errorf("rule %q, patch: %w", name, err))
			return
		}
		d.applyPatch(ctx, desired)
	}
}

// unpatch compares with the end of a patch that the rule has made.
func (d *ruleDiff) unpatch(ctx context.Context) {
	if d.self.owned(engine.PatchManager(d.result.Rule.Name), "") != nil {
		d.applyPatch(ctx, map[string]any{})
	}
}

func (d *ruleDiff) applyPatch(ctx context.Context, desired map[string]any) {
	metadata, _ := desired["metadata"].(map[string]any)
	body := maps.Clone(desired)
	body["metadata"] = d.identifying(metadata)
	d.addSelf(body)
	answer, err := d.dryRun(ctx, d.ofSelf(engine.PatchManager(d.result.Rule.Name)), body)
	switch {
	case isRefusal(err):
		d.tell("refused: rule %q, patch: the API server refuses it: %v", d.result.Rule.Name, err)
		d.without(d.ofPrimary(), actionRefused, fmt.Sprintf("the API server refuses the patch: %v", err))
	case err != nil:
		d.fail(fmt.Errorf("rule %q, patch: dry run: %w", d.result.Rule.Name, err))
	default:
		d.add(d.ofPrimary(), actionPatch, d.self.Object, answer.Object)
	}
}

// identifying returns metadata that pins an apply to the primary.
func (p *diffPass) identifying(metadata map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, metadata)
	out["name"], out["uid"] = p.self.GetName(), string(p.self.GetUID())
	if ns := p.self.GetNamespace(); ns != "" {
		out["namespace"] = ns
	}
	return out
}

// addSelf says of what kind an object is.
func (p *diffPass) addSelf(body map[string]any) {
	body["apiVersion"], body["kind"] = p.kind.GVK.ToAPIVersionAndKind()
}

func (p *diffPass) dryRun(ctx context.Context, t target, object map[string]any) (*liveObject, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return p.apply(ctx, t, body)
}

// status compares what all rules together say about the primary's status.
func (p *diffPass) status(ctx context.Context) {
	live, _ := p.self.Object["status"].(map[string]any)
	desired, err := p.desiredStatus(live)
	if err != nil {
		p.fail(err)
		return
	}
	c := change{Primary: refOf(p.self), Rule: strings.Join(p.rulesWithStatus(), ","), Object: refOf(p.self)}
	after, err := p.statusAfter(ctx, live, desired)
	if isRefusal(err) {
		p.tell("refused: status: the API server refuses it: %v", err)
		p.without(c, actionRefused, fmt.Sprintf("the API server refuses the status: %v", err))
		return
	}
	if err != nil {
		p.fail(fmt.Errorf("status: dry run: %w", err))
		return
	}
	conditions, err := p.conditionsAfter(ctx, live)
	if err != nil {
		p.fail(err)
		return
	}
	p.add(c, actionStatus, p.statusObject(live, p.saidBefore(live, conditions)), p.statusObject(after, conditions))
}

// rulesWithStatus names the rules that the status may come from.
func (p *diffPass) rulesWithStatus() (names []string) {
	for _, r := range p.primary.Rules {
		if len(r.StatusKeys) > 0 || len(r.Conditions) > 0 {
			names = append(names, r.Name)
		}
	}
	return names
}

// keepsStatus reports whether the rule could not say all of its status: what it
// said before is then repeated.
func (p *diffPass) keepsStatus(r *rules.RuleResult) bool {
	return r.Err != nil || r.StatusErr != nil || r.Leaving || r.Matches && p.unknownKind(r.Rule) != ""
}

// desiredStatus returns the status that run would apply, but for conditions.
func (p *diffPass) desiredStatus(live map[string]any) (map[string]any, error) {
	desired := map[string]any{}
	for i := range p.out.Rules {
		r := &p.out.Rules[i]
		if len(r.Status) > 0 && !r.Leaving {
			// Two rules never write one field, so that nothing is lost here.
			if err := utiljson.Unmarshal(r.Status, &desired); err != nil {
				return nil, fmt.Errorf("rule %q: status: %w", r.Rule.Name, err)
			}
		}
		if !p.keepsStatus(r) {
			continue
		}
		for _, key := range r.Rule.StatusKeys {
			_, said := desired[key]
			if value, ok := live[key]; ok && !said {
				desired[key] = value
			}
		}
	}
	return desired, nil
}

// statusAfter asks what the status would be. Nothing is asked where nothing is
// said and nothing was.
func (p *diffPass) statusAfter(ctx context.Context, live, desired map[string]any) (map[string]any, error) {
	t := p.ofSelf(engine.FieldManager, "status")
	if !p.kind.Status {
		t = p.ofSelf(engine.StatusManager)
	}
	if len(desired) == 0 && p.self.owned(t.manager, strings.Join(t.subresources, "")) == nil {
		return live, nil
	}
	body := map[string]any{"metadata": p.identifying(nil), "status": desired}
	p.addSelf(body)
	answer, err := p.dryRun(ctx, t, body)
	if err != nil {
		return nil, err
	}
	after, _ := answer.Object["status"].(map[string]any)
	return after, nil
}

// statusObject returns what is compared of a status.
func (p *diffPass) statusObject(status map[string]any, conditions []any) map[string]any {
	shown := map[string]any{}
	maps.Copy(shown, status)
	delete(shown, "conditions")
	if len(conditions) > 0 {
		shown["conditions"] = conditions
	}
	metadata := map[string]any{"name": p.self.GetName()}
	if ns := p.self.GetNamespace(); ns != "" {
		metadata["namespace"] = ns
	}
	out := map[string]any{"metadata": metadata, "status": shown}
	if len(shown) == 0 {
		delete(out, "status")
	}
	p.addSelf(out)
	return out
}

// conditionsAfter returns the conditions of the rules as run would write them,
// without times and generations. The built-in ones depend on what happens.
func (p *diffPass) conditionsAfter(ctx context.Context, live map[string]any) ([]any, error) {
	before := conditionsByType(live)
	var out []any
	for i := range p.out.Rules {
		r := &p.out.Rules[i]
		said := map[string]bool{}
		for _, c := range r.Conditions {
			if !r.Leaving {
				said[c.Type] = true
				out = append(out, condition(c))
			}
		}
		if !p.keepsStatus(r) {
			continue
		}
		for _, kept := range r.Rule.Conditions {
			if entry := before[kept]; entry != nil && !said[kept] {
				out = append(out, shownCondition(entry))
			}
		}
	}
	if len(out) == 0 || len(before) > 0 {
		return out, nil
	}
	// Without a live one only the schema tells whether there can be any.
	has, err := p.differ.cluster.hasConditions(ctx, p.kind.GVK)
	if !has {
		return nil, err
	}
	return out, nil
}

// saidBefore returns the live conditions that the rules will say or have said,
// in the order of those that they will say.
func (p *diffPass) saidBefore(live map[string]any, after []any) (out []any) {
	before := conditionsByType(live)
	take := func(kind string) {
		if entry := before[kind]; entry != nil {
			out = append(out, shownCondition(entry))
			delete(before, kind)
		}
	}
	for _, c := range after {
		entry, _ := c.(map[string]any)
		kind, _ := entry["type"].(string)
		take(kind)
	}
	for _, kind := range p.ownConditions() {
		take(kind)
	}
	return out
}

// ownConditions returns the types of conditions that run has written, but for
// the built-in ones.
func (p *diffPass) ownConditions() (kinds []string) {
	tree := p.self.owned(engine.FieldManager, "status")
	if !p.kind.Status {
		tree = p.self.owned(engine.StatusManager, "")
	}
	status, _ := tree["f:status"].(map[string]any)
	list, _ := status["f:conditions"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(list)) {
		var id struct{ Type string }
		text, keyed := strings.CutPrefix(key, "k:")
		if !keyed || json.Unmarshal([]byte(text), &id) != nil || slices.Contains(builtInConditions, id.Type) {
			continue
		}
		kinds = append(kinds, id.Type)
	}
	return kinds
}

var builtInConditions = []string{"Ready", "Reconciling", "Stalled"}

func conditionsByType(status map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if entry, ok := c.(map[string]any); ok {
			kind, _ := entry["type"].(string)
			out[kind] = entry
		}
	}
	return out
}

// shownCondition leaves times and generations out of a condition.
func shownCondition(entry map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"type", "status", "reason", "message"} {
		if value, ok := entry[key]; ok && value != "" {
			out[key] = value
		}
	}
	return out
}
