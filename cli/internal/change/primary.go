package change

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"reconcel/cli/internal/dryrun"
	"reconcel/engine/access"
	"reconcel/engine/discover"
	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/preview"
	"reconcel/rules"
)

// A Primary is what run would do for one primary: one reconciliation with dry runs
// instead of writes.
type Primary struct {
	Report  preview.Report
	Changes []Change
	Errs    []error // requests that failed

	rules   *rules.Primary
	kind    discover.Kind
	request ident.Request
	ending  bool     // it is being deleted
	unknown []string // the subjects and objects of changes that Errs makes unknown
}

// NewPrimary returns a primary that is not reconciled yet.
func NewPrimary(of *rules.Primary, kind discover.Kind, self *unstructured.Unstructured) *Primary {
	p := PrimaryOf(of, kind, ident.Request{
		Kind: of.GVK.GroupKind(), Namespace: self.GetNamespace(), Name: self.GetName(),
		UID: rules.UIDOf(of.GVK.GroupKind(), self),
	})
	p.ending = self.GetDeletionTimestamp() != nil
	return p
}

// PrimaryOf returns the primary of a request, which is not reconciled yet.
func PrimaryOf(of *rules.Primary, kind discover.Kind, request ident.Request) *Primary {
	return &Primary{rules: of, kind: kind, request: request}
}

// Object returns the identity of the primary.
func (p *Primary) Object() Object {
	return Object{p.kind.GVK.GroupVersion().String(), p.kind.GVK.Kind, p.request.Namespace, p.request.Name}
}

// fail records that the change of an object is unknown. Later errors about the same
// object are dropped.
func (p *Primary) fail(c *Change, err error) {
	if about := c.subjectAndObject(); !slices.Contains(p.unknown, about) {
		p.unknown = append(p.unknown, about)
		p.Errs = append(p.Errs, fmt.Errorf("%s: %w", about, err))
	}
}

// Reconcile turns the writes and findings of one reconciliation into changes.
func (p *Primary) Reconcile(ctx context.Context,
	reconcile func(context.Context, ident.Request) (preview.Report, error)) {
	ctx, recorder := dryrun.Record(ctx)
	report, err := reconcile(ctx, p.request)
	p.Report, p.ending = report, p.ending || report.Terminating
	for _, err := range recorder.Unread() {
		p.Errs = append(p.Errs, fmt.Errorf("%s: %w", p.Object(), err))
	}
	for _, w := range writtenObjects(recorder.Writes()) {
		p.add(w)
	}
	for i := range report.Findings {
		p.addFinding(&report.Findings[i])
	}
	if err != nil && len(p.Errs) == 0 && !outcome.IsRejection(err) {
		p.Errs = append(p.Errs, fmt.Errorf("%s: %w", p.Object(), err))
	}
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return slices.Compare(p.position(&a), p.position(&b))
	})
}

// position orders changes as in the rules file: by rule, and within a rule the
// finalizers, the children, the patch and the deletions. The status comes last.
func (p *Primary) position(c *Change) []int {
	rule := slices.IndexFunc(p.rules.Rules, func(r *rules.Rule) bool { return r.Name == c.Rule })
	if c.Part == StatusPart || rule < 0 {
		return []int{len(p.rules.Rules)}
	}
	child := slices.IndexFunc(p.rules.Rules[rule].Children, func(r *rules.Child) bool { return r.ID == c.Child })
	stage := 1
	switch {
	case c.Part == finalizersPart, c.Part == donePart:
		stage = 0
	case c.Action == outcome.Deleted:
		stage, child = 3, 0 // Deletions keep the order of the reconciliation.
	case c.Child == "":
		stage = 2
	}
	return []int{rule, stage, child}
}

// ofSelf returns a change of the primary itself.
func (p *Primary) ofSelf(rule string, of part) Change {
	return Change{Primary: p.Object(), Rule: rule, Object: p.Object(), Part: of}
}

// addFinding adds the reason why an object is not written. All writes are already
// added.
func (p *Primary) addFinding(f *access.Finding) {
	c := p.ofSelf(f.Rule, "")
	if f.Child != "" {
		c.Child, c.Object = f.Child, ObjectWithID(f.Object)
	}
	c.Action, c.Reason, c.Later = f.Action, f.Message, f.Later
	if f.Action == "" {
		p.fail(&c, errors.New(f.Message))
		return
	}
	known := slices.IndexFunc(p.Changes, func(other Change) bool {
		return other.Object == c.Object && other.Child == c.Child && c.Child != ""
	})
	switch {
	case known < 0:
		p.Changes = append(p.Changes, c)
	case f.Action != outcome.Skipped && !p.Changes[known].forbidden:
		p.Changes[known] = c // The engine's reason is more precise than the API server's.
	}
}

// A Doer is the primary that first creates, configures or deletes an object.
type Doer struct {
	primary     Object
	rule, child string
	action      outcome.Action
	shared      map[string]any // the sharedContent of the object
	values      [sha256.Size]byte
}

// RejectDuplicates rejects the creation of an object that another primary creates
// too, unless they share it. What several owners of a shared object do to it is done once.
func (p *Primary) RejectDuplicates(doers map[Object]Doer) {
	const none outcome.Action = ""
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Action != outcome.Created && c.Action != outcome.Configured && c.Action != outcome.Deleted {
			continue
		}
		content := c.After
		if c.Action == outcome.Deleted {
			content = c.Before
		}
		now := Doer{c.Primary, c.Rule, c.Child, c.Action, sharedContent(content), c.values}
		if now.shared == nil && c.Action != outcome.Created {
			continue
		}
		first, again := doers[c.Object]
		switch agrees := first.agrees(&now); {
		case !again:
			doers[c.Object] = now
			continue
		case !agrees && c.Action != outcome.Created:
			continue
		case agrees && c.Action == outcome.Configured && maps.Equal(sharesIn(c.Before), sharesIn(c.After)):
			c.Action = none // This owner has nothing to publish.
			continue
		case agrees:
			c.done(&first)
			continue
		}
		reason := "is already rendered for " + first.primary.String()
		if now.shared != nil && first.rule == c.Rule && first.child == c.Child {
			reason = "is shared with " + first.primary.String() + ", which renders it differently"
		}
		*c = Change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: outcome.Rejected,
			Reason: reason}
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return c.Action == none })
}

// agrees reports whether another owner of a shared object does the same.
func (d *Doer) agrees(now *Doer) bool {
	return now.shared != nil && d.rule == now.rule && d.child == now.child && d.action == now.action &&
		d.values == now.values && reflect.DeepEqual(d.shared, now.shared)
}

// done makes a change of a shared object that of an owner for whom another one makes it.
func (c *Change) done(first *Doer) {
	*c = Change{Primary: c.Primary, Rule: c.Rule, Child: c.Child, Object: c.Object, Action: outcome.Shared,
		Reason: fmt.Sprintf("is %s for %s", first.action, first.primary)}
	if first.action == outcome.Deleted {
		c.Action = outcome.Left
	}
}

// sharesIn returns the annotations of the owners of a shared object.
func sharesIn(object map[string]any) map[string]string {
	u := unstructured.Unstructured{Object: object}
	shares := u.GetAnnotations()
	maps.DeleteFunc(shares, func(key, _ string) bool { return !strings.HasPrefix(key, rules.SharePrefix) })
	return shares
}

// sharedContent returns an object that several primaries may share without the annotations of its
// owners, or nil if it is not shared.
func sharedContent(object map[string]any) map[string]any {
	u := unstructured.Unstructured{Object: object}
	if u.GetAnnotations()[rules.AnnotationShared] == "" {
		return nil
	}
	u.Object = runtime.DeepCopyJSON(object)
	annotations := u.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return strings.HasPrefix(key, rules.SharePrefix) })
	u.SetAnnotations(annotations)
	return u.Object
}

// Stopped returns why rules do not apply to the primary as a whole, or "".
func (p *Primary) Stopped() string {
	switch {
	case p.Report.Paused:
		return fmt.Sprintf("paused by its annotation %s and left unchanged", rules.AnnotationPaused)
	case p.ending:
		return "being deleted"
	}
	return ""
}

// Notes returns the lines for people: everything that is not a difference.
func (p *Primary) Notes() (all []string) {
	if why := p.Stopped(); why != "" {
		all = append(all, fmt.Sprintf("%s: is %s", p.Object(), why))
	}
	for i := range p.Changes {
		if c := &p.Changes[i]; c.Action == outcome.Skipped || c.Action.IsTrouble() {
			all = append(all, fmt.Sprintf("%s: %s: %s", c.subjectAndObject(), c.Action, c.Reason))
		}
	}
	return all
}
