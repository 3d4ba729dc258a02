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

// A primaryDiff is what run would do for one primary: one reconciliation with dry
// runs instead of writes.
type primaryDiff struct {
	differ  *differ
	primary *rules.Primary
	kind    discover.Kind
	self    *unstructured.Unstructured

	report  engine.Report
	changes []change
	errs    []error         // requests that failed
	unknown map[string]bool // by subjectAndObject: the changes that errs makes unknown
}

// fail records that the change of an object is unknown. Later errors about the same
// object are dropped.
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

// run reconciles the primary, and turns recorded writes and findings into changes.
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

// position orders changes as in the rules file: by rule, and within a rule the
// finalizers, the children, the patch and the deletions. The status comes last.
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
		stage, child = 3, 0 // Deletions keep the order of the reconciliation.
	case c.Child == "":
		stage = 2
	}
	return []int{rule, stage, child}
}

func (p *primaryDiff) ofSelf(rule string, of part) change {
	return change{Primary: refOf(p.self), Rule: rule, Object: refOf(p.self), Part: of}
}

// find returns the known change of an object, or nil.
func (p *primaryDiff) find(c *change) *change {
	i := slices.IndexFunc(p.changes, func(other change) bool { return other.Object == c.Object && other.Child == c.Child && c.Child != "" })
	if i < 0 {
		return nil
	}
	return &p.changes[i]
}

// addFinding adds the reason why an object is not written. All writes are already
// added.
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
		*known = c // The engine's reason is more precise than the API server's.
	}
}

// contest refuses the creation of an object that another primary creates too.
func (p *primaryDiff) contest(made map[objectRef]string) {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Action != engine.Created {
			continue
		}
		if other, taken := made[c.Object]; taken {
			*c = change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: engine.Rejected,
				Reason: "is already rendered for " + other}
			continue
		}
		made[c.Object] = refOf(p.self).String()
	}
}

// notes returns the lines for stderr: everything that is not a difference.
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

// ruleOfManager returns the rule whose patch has this field manager, or "".
func (p *primaryDiff) ruleOfManager(manager string) string {
	for _, r := range p.primary.Rules {
		if managedfields.PatchManager(r.Name) == manager {
			return r.Name
		}
	}
	return ""
}
