package preview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/engine/decide"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/engine/write"
	"reconcel/rules"
)

// A previewReport collects the decisions of one reconciliation that led to no write.
type previewReport struct {
	*access.Subject
	view     *access.View
	metadata *access.Metadata
	teardown *write.Teardown
}

// A Report has the decisions of one reconciliation, besides its writes.
type Report struct {
	Findings []access.Finding
	// Taken are the objects that the primary adopted or extended.
	Taken []access.Taken
	// Deselected names the rules that no longer match the primary.
	Deselected []string
	// Orphans are objects that no rule renders and that stay, by onDelete: orphan.
	Orphans []access.Orphan
	// Paused means that the primary is paused: only its status was reconciled.
	Paused bool
	// Terminating means that the primary is being deleted.
	Terminating bool

	written int // children that the caches do not show as they are now
}

// waits reports whether something was not written because it waits.
func (r *Report) waits() bool {
	return slices.ContainsFunc(r.Findings, func(f access.Finding) bool { return f.Action == outcome.Skipped })
}

// previewed returns the report of a finished reconciliation.
func (p *previewReport) previewed() Report {
	report := Report{Taken: p.Findings.Taken, Paused: p.Self.Paused(), Terminating: p.Self.Terminating()}
	for _, w := range p.Memory.Children {
		if w.Object != nil {
			report.written++
		}
	}
	if report.Paused {
		return report
	}
	for i := range p.Rendering.Rules {
		r := &p.Rendering.Rules[i]
		if p.Admitted.Refuses(r.Rule) {
			continue
		}
		if !r.Matches && r.Err == nil {
			report.Deselected = append(report.Deselected, r.Rule.Name)
		}
		report.Findings = append(report.Findings, p.unresolved(r)...)
	}
	report.Findings = append(report.Findings, p.Findings.All...)
	for i := range p.Rendering.Rules {
		if p.Admitted.Refuses(p.Rendering.Rules[i].Rule) {
			continue
		}
		report.Findings = append(report.Findings, p.undeleted(&p.Rendering.Rules[i])...)
		report.Orphans = append(report.Orphans, p.orphans(&p.Rendering.Rules[i])...)
	}
	report.Findings = append(report.Findings, p.Findings.Kept...)
	return report
}

// unresolved returns the objects and templates of a rule that failed to render
// or still wait.
func (p *previewReport) unresolved(r *rules.RuleResult) (found []access.Finding) {
	note := func(child string, id rules.Identity, waits []string, err *rules.Failure) {
		f := access.Finding{Rule: r.Rule.Name, Child: child, Object: id, Action: outcome.Skipped}
		if err != nil {
			f.Action, f.Message = outcome.Failed, err.Message
		} else {
			f.Message = decide.WaitingText(waits)
		}
		found = append(found, f)
	}
	none := rules.Identity{}
	if r.Err != nil {
		note("", none, nil, r.Err)
		return found
	}
	if r.Teardown && !p.Self.HasFinalizer(r.Rule) || !r.Matches && !r.Teardown {
		return nil
	}
	if kind, why := p.view.UnlistedKind(r); why != "" {
		return []access.Finding{{Rule: r.Rule.Name, Action: outcome.Skipped,
			Message: fmt.Sprintf("waits for kind %s: %s", kind, why)}}
	}
	for i := range r.Children {
		c := &r.Children[i]
		if r.Teardown && (c.Child.Timeout == 0 || p.metadata.Finalized(r.Rule)) {
			continue
		}
		switch c.State {
		case rules.Waiting, rules.Failed:
			note(c.Child.ID, rules.Identity{GVK: c.Child.GVK}, c.Waits, c.Err)
			continue
		}
		for j := range c.Objects {
			if d := &c.Objects[j]; d.State == rules.Waiting || d.State == rules.Failed {
				note(c.Child.ID, d.Identity, d.Waits, d.Err)
			}
		}
	}
	if r.Teardown {
		return found
	}
	if r.PatchErr != nil || len(r.PatchWaits) > 0 {
		note("", none, r.PatchWaits, r.PatchErr)
	}
	for i := range r.StatusErrs {
		note("", none, nil, &r.StatusErrs[i])
	}
	return found
}

// undeleted returns the objects that a rule deletes in a later step of a teardown.
func (p *previewReport) undeleted(r *rules.RuleResult) (found []access.Finding) {
	if r.Err != nil || !r.Teardown || !p.Self.HasFinalizer(r.Rule) {
		return nil
	}
	for _, c := range p.teardown.Remains(r.Rule) {
		id := c.Object.Identity(c.Kind.GVK)
		if p.view.Wants(id) || p.view.Leaves(c.Object) {
			continue
		}
		found = append(found, access.DeletedLater(r.Rule, c))
	}
	return found
}

// orphans returns the objects of a rule that no rule renders and that stay.
func (p *previewReport) orphans(r *rules.RuleResult) (found []access.Orphan) {
	if r.Err != nil {
		return nil
	}
	for k, o := range p.view.MadeBy(r.Rule) {
		id := o.Identity(k.GVK)
		if decide.OutlivesPrimary(r.Rule, o) && !p.view.Wants(id) && !p.view.Leaves(o) &&
			p.Rendering.MayRender(r.Rule, o.Child(), id) == "" {
			found = append(found, access.Orphan{Rule: r.Rule.Name, Child: o.Child(), Primary: p.Req, Object: id})
		}
	}
	return found
}

// feed is Stepper.feed. A kind that cannot be listed holds up only the rules that need it.
func (v *Preview) feed(ctx context.Context, w *watch.Watch) error {
	if known := v.unread[w.GVK]; known != nil && !apierrors.IsForbidden(known) { // Other namespaces may be allowed.
		w.Fail(known)
		return nil
	}
	var listed error
	err := v.stepper.feed(ctx, w, func(ctx context.Context, k ident.Kind) watch.List {
		return func(visit func(*unstructured.Unstructured) error) (version string, err error) {
			listed = v.list(ctx, w.Role, k, visit)
			return "", listed
		}
	})
	switch {
	case listed != nil && ctx.Err() == nil:
		w.Fail(listed)
	case err != nil:
		return err
	}
	if _, why := w.Cache(); why != nil && !discover.IsUnwatchable(why) {
		v.unread[w.GVK] = why
	}
	return nil
}

// An Unread kind is one that a Preview could not read. What rules do with it is not known.
type Unread struct {
	Kind  string
	Rules []string // that need it
	Err   error
}

// Error says why, and what is not known.
func (u Unread) Error() string {
	rule := "rule"
	if len(u.Rules) > 1 {
		rule = "rules"
	}
	return fmt.Sprintf(`%v; incomplete: kind %s of %s "%s"`, u.Err, u.Kind, rule, strings.Join(u.Rules, `", "`))
}

// Unwrap returns why the kind could not be read.
func (u Unread) Unwrap() error { return u.Err }

// Unread returns the kinds that could not be read, by name.
func (v *Preview) Unread() (all []Unread) {
	for gvk, err := range v.unread {
		u := Unread{Kind: gvk.Kind, Err: err}
		for _, pk := range v.stepper.engine.Plan.Load().Primaries {
			for _, r := range pk.Rules {
				if pk.Needs(r, gvk) {
					u.Rules = append(u.Rules, r.Name)
				}
			}
		}
		if slices.Sort(u.Rules); len(u.Rules) > 0 {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b Unread) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Err.Error(), b.Err.Error()))
	})
	return all
}
