package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A primary is what run would do for one primary: one reconciliation with dry runs
// instead of writes.
type primary struct {
	rules *rules.Primary
	kind  discover.Kind
	self  *unstructured.Unstructured

	report  engine.Report
	changes []Change
	errs    []error         // requests that failed
	unknown map[string]bool // by subjectAndObject: the changes that errs makes unknown
}

// fail records that the change of an object is unknown. Later errors about the same
// object are dropped.
func (p *primary) fail(c *Change, err error) {
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

// reconcile turns the writes and findings of one reconciliation into changes.
func (p *primary) reconcile(ctx context.Context, preview *engine.Preview) {
	ctx, recorder := dryrun.Record(ctx)
	report, err := preview.Reconcile(ctx, engine.Request{
		Kind: p.kind.GVK.GroupKind(), Namespace: p.self.GetNamespace(), Name: p.self.GetName(), UID: p.self.GetUID(),
	})
	p.report = report
	for _, err := range recorder.Unread() {
		p.errs = append(p.errs, fmt.Errorf("%s: %w", objectOf(p.self), err))
	}
	for _, w := range writtenObjects(recorder.Writes()) {
		p.add(w)
	}
	for i := range report.Findings {
		p.addFinding(&report.Findings[i])
	}
	if err != nil && len(p.errs) == 0 && !engine.IsRejection(err) {
		p.errs = append(p.errs, fmt.Errorf("%s: %w", objectOf(p.self), err))
	}
	slices.SortStableFunc(p.changes, func(a, b Change) int {
		return slices.Compare(p.position(&a), p.position(&b))
	})
}

// position orders changes as in the rules file: by rule, and within a rule the
// finalizers, the children, the patch and the deletions. The status comes last.
func (p *primary) position(c *Change) []int {
	rule := slices.IndexFunc(p.rules.Rules, func(r *rules.Rule) bool { return r.Name == c.Rule })
	if c.Part == statusPart || rule < 0 {
		return []int{len(p.rules.Rules)}
	}
	child := slices.IndexFunc(p.rules.Rules[rule].Children, func(r *rules.Child) bool { return r.ID == c.Child })
	stage := 1
	switch {
	case c.Part == finalizersPart:
		stage = 0
	case c.Action == engine.Deleted:
		stage, child = 3, 0 // Deletions keep the order of the reconciliation.
	case c.Child == "":
		stage = 2
	}
	return []int{rule, stage, child}
}

// ofSelf returns a change of the primary itself.
func (p *primary) ofSelf(rule string, of part) Change {
	return Change{Primary: objectOf(p.self), Rule: rule, Object: objectOf(p.self), Part: of}
}

// addFinding adds the reason why an object is not written. All writes are already
// added.
func (p *primary) addFinding(f *engine.Finding) {
	c := p.ofSelf(f.Rule, "")
	if f.Child != "" {
		c.Child, c.Object = f.Child, objectWithID(f.Object)
	}
	c.Action, c.Reason = f.Action, f.Message
	if f.Action == "" {
		p.fail(&c, errors.New(f.Message))
		return
	}
	known := slices.IndexFunc(p.changes, func(other Change) bool { return other.Object == c.Object && other.Child == c.Child && c.Child != "" })
	switch {
	case known < 0:
		p.changes = append(p.changes, c)
	case f.Action != engine.Skipped && !p.changes[known].forbidden:
		p.changes[known] = c // The engine's reason is more precise than the API server's.
	}
}

// rejectDuplicates rejects the creation of an object that another primary creates
// too.
func (p *primary) rejectDuplicates(creators map[Object]Object) {
	for i := range p.changes {
		c := &p.changes[i]
		if c.Action != engine.Created {
			continue
		}
		if other, exists := creators[c.Object]; exists {
			*c = Change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: engine.Rejected,
				Reason: "is already rendered for " + other.String()}
			continue
		}
		creators[c.Object] = c.Primary
	}
}

// notes returns the lines for people: everything that is not a difference.
func (p *primary) notes() (all []string) {
	switch {
	case p.report.Paused:
		all = append(all, fmt.Sprintf("%s: is paused by its annotation %s and left unchanged", objectOf(p.self), rules.AnnotationPaused))
	case p.self.GetDeletionTimestamp() != nil:
		all = append(all, fmt.Sprintf("%s: is being deleted", objectOf(p.self)))
	}
	for i := range p.changes {
		if c := &p.changes[i]; c.Action == engine.Skipped || c.Action.IsTrouble() {
			all = append(all, fmt.Sprintf("%s: %s: %s", c.subjectAndObject(), c.Action, c.Reason))
		}
	}
	return all
}
