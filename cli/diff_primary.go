package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// A primaryDiff is what run would do about one primary: one reconciliation, whose
// writes are dry runs.
type primaryDiff struct {
	differ  *differ
	primary *rules.Primary
	kind    discover.Kind
	self    *unstructured.Unstructured

	report  engine.Report
	changes []change
	errs    []error         // what the cluster could not be asked
	unknown map[string]bool // of what, by subjectAndObject
}

// fail notes that it is not known what becomes of an object. What else is found out
// about it is no news then.
func (p *primaryDiff) fail(c *change, err error) {
	about := c.subjectAndObject()
	if p.unknown[about] {
		return
	}
	if p.unknown == nil {
		p.unknown = map[string]bool{}
	}
	p.unknown[about] = true
	p.errs = append(p.errs, fmt.Errorf("%s: %w", about, err))
}

// run reconciles the primary, and turns what was written and what was not into
// changes.
func (p *primaryDiff) run(ctx context.Context) {
	ctx, recorder := dryrun.Record(ctx)
	report, err := p.differ.preview.Reconcile(ctx, engine.Request{
		Kind: p.kind.GVK.GroupKind(), Namespace: p.self.GetNamespace(), Name: p.self.GetName(), UID: p.self.GetUID(),
	})
	p.report = report
	for _, err := range recorder.Unread() {
		p.errs = append(p.errs, fmt.Errorf("%s: %w", refOf(p.self), err))
	}
	for _, w := range writtenObjects(recorder.Writes()) {
		p.add(w)
	}
	for i := range report.Findings {
		p.addFinding(&report.Findings[i])
	}
	if err != nil && len(p.errs) == 0 && !engine.IsRejection(err) {
		p.errs = append(p.errs, fmt.Errorf("%s: %w", refOf(p.self), err))
	}
	slices.SortStableFunc(p.changes, func(a, b change) int {
		return slices.Compare(p.position(&a), p.position(&b))
	})
}

// position orders changes as rules are written: by rule, and within one the
// finalizers, the children, the patch, and what is deleted. The status comes last.
func (p *primaryDiff) position(c *change) []int {
	rule := slices.IndexFunc(p.primary.Rules, func(r *rules.Rule) bool { return r.Name == c.Rule })
	if c.Part == partStatus || rule < 0 {
		return []int{len(p.primary.Rules)}
	}
	child := slices.IndexFunc(p.primary.Rules[rule].Children, func(r *rules.Child) bool { return r.ID == c.Child })
	stage := 1
	switch {
	case c.Part == partFinalizers:
		stage = 0
	case c.Action == engine.Deleted:
		stage, child = 3, 0 // In the order in which it is done.
	case c.Child == "":
		stage = 2
	}
	return []int{rule, stage, child}
}

// ofSelf returns a change of the primary itself.
func (p *primaryDiff) ofSelf(rule string, of part) change {
	return change{Primary: refOf(p.self), Rule: rule, Object: refOf(p.self), Part: of}
}

// find returns the change of an object that is known already, or nil.
func (p *primaryDiff) find(c *change) *change {
	i := slices.IndexFunc(p.changes, func(other change) bool { return other.Object == c.Object && other.Child == c.Child && c.Child != "" })
	if i < 0 {
		return nil
	}
	return &p.changes[i]
}

// addFinding adds why an object is not written. What a request was answered, and
// what was written all the same, is known by then.
func (p *primaryDiff) addFinding(f *engine.Finding) {
	c := p.ofSelf(f.Rule, "")
	if f.Child != "" {
		apiVersion, kind := f.Object.GVK.ToAPIVersionAndKind()
		c.Child, c.Object = f.Child, objectRef{apiVersion, kind, f.Object.Namespace, f.Object.Name}
	}
	c.Action, c.Reason = f.Action, f.Message
	if f.Action == "" {
		p.fail(&c, errors.New(f.Message))
		return
	}
	switch known := p.find(&c); {
	case known == nil:
		p.changes = append(p.changes, c)
	case f.Action != engine.Skipped && !known.forbidden:
		*known = c // The engine says more than the API server.
	}
}

// contest takes back the creation of what another primary would create too.
func (p *primaryDiff) contest(made map[objectRef]string) {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Action != engine.Created {
			continue
		}
		if other, taken := made[c.Object]; taken {
			*c = change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: engine.Refused,
				Reason: "is already rendered for " + other}
			continue
		}
		made[c.Object] = refOf(p.self).String()
	}
}

// notes says for stderr what is no difference.
func (p *primaryDiff) notes() (all []string) {
	switch {
	case p.report.Paused:
		all = append(all, fmt.Sprintf("%s: is paused by its annotation %s and left unchanged", refOf(p.self), rules.AnnotationPaused))
	case p.self.GetDeletionTimestamp() != nil:
		all = append(all, fmt.Sprintf("%s: is being deleted", refOf(p.self)))
	}
	for i := range p.changes {
		if c := &p.changes[i]; c.Action == engine.Skipped || c.Action.IsTrouble() {
			all = append(all, c.note())
		}
	}
	return all
}

// ruleOfManager returns the rule whose patch a field manager writes, or "".
func (p *primaryDiff) ruleOfManager(manager string) string {
	for _, r := range p.primary.Rules {
		if managedfields.PatchManager(r.Name) == manager {
			return r.Name
		}
	}
	return ""
}
