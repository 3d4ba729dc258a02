package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
)

// Render renders every rule of the primary kind for one object. The same input
// gives the same bytes. Render overwrites out, which may be reused. The caller must
// not keep parts of it after the next use.
func (p *Primary) Render(in Input, out *Rendering) {
	out.Rules = resize(out.Rules, len(p.Rules))
	r := runs.Get().(*run)
	defer runs.Put(r)
	r.buf = out.buf[:0]
	r.enter(in, p.GVK)
	for i, rule := range p.Rules {
		res := &out.Rules[i]
		*res = RuleResult{Rule: rule, Children: res.Children[:0], Conditions: res.Conditions[:0],
			UndecidedConditions: res.UndecidedConditions[:0]}
		r.evaluate(rule, res, (*run).renderSelected)
		res.Next = r.clock.Next()
	}
	out.buf = r.buf
	r.failDuplicates(out.Rules)
	r.statusConditions.failSameTypes(out.Rules)
	r.forget()
	for i := range out.Rules {
		out.Rules[i].sliceBuffer(out.buf)
		out.Rules[i].awaitPrevious()
	}
}

// enter prepares the run for a primary.
func (r *run) enter(in Input, gvk schema.GroupVersionKind) {
	metadata := mapAt(in.Self, "metadata")
	r.in = in
	r.annotations = mapAt(metadata, "annotations")
	r.in.Self = visible(r.liveObjects.object(gvk, in.Self), metadata, r.annotations)
	r.primary = identityIn(metadata, gvk)
}

// identityIn returns the identity of a primary with this metadata. The children of a Namespace
// are in it.
func identityIn(metadata map[string]any, gvk schema.GroupVersionKind) identity {
	id := identityFrom(metadata)
	if gvk == BundleKind {
		id.home, id.uid = "", string(BundleUID(id.namespace, id.name))
	}
	if gvk.Group == "" && gvk.Kind == "Namespace" {
		id.home = id.name
	}
	return id
}

// sliceBuffer sets the slices of the buffer, once the buffer no longer grows.
func (res *RuleResult) sliceBuffer(buf []byte) {
	res.Patch = buf[res.patch.start:res.patch.end:res.patch.end]
	res.Status = buf[res.status.start:res.status.end:res.status.end]
	for i := range res.Children {
		objects := res.Children[i].Objects
		for j := range objects {
			d := &objects[j]
			d.body = buf[d.span.start:d.span.end:d.span.end]
			for k := range d.ignored {
				v := &d.ignored[k]
				v.json = buf[v.span.start:v.span.end:v.span.end]
			}
		}
	}
}

var runs = sync.Pool{New: func() any { return newRun() }}

// forget releases the object, so that a pooled run does not keep it in memory.
func (r *run) forget() {
	clear(r.lets)
	clear(r.lookups)
	r.runState = runState{lets: r.lets[:0], lookups: r.lookups[:0], marks: r.marks[:0]}
}

// evaluate does one step with the expressions of a rule. Its errors do not affect other
// rules.
func (r *run) evaluate(rule *Rule, res *RuleResult, step func(*run)) {
	start := len(r.buf)
	defer func() {
		if v := recover(); v != nil {
			// Do not print the value: it may contain data of the object.
			r.abort(start, &expr.Error{Pos: rule.Pos, Message: fmt.Sprintf("internal error while rendering (%T)", v)})
		}
	}()
	r.begin(rule, res)
	frame, err := interpreter.NewExecutionFrame(&r.variables)
	if err != nil {
		r.abort(start, &expr.Error{Pos: rule.Pos, Message: "internal error while rendering"})
		return
	}
	defer frame.Close()
	r.frame = frame
	if r.in.Timeout > 0 && rule.loops {
		ctx, cancel := context.WithTimeout(context.Background(), r.in.Timeout)
		defer cancel()
		if err := frame.SetContext(ctx, 1); err != nil {
			r.abort(start, &expr.Error{Pos: rule.Pos, Message: "internal error while rendering"})
			return
		}
		defer func() { res.TimedOut = ctx.Err() != nil }()
	}
	step(r)
}

// renderSelected renders the rule if it selects the object or has to delete its own
// objects.
func (r *run) renderSelected() {
	r.decideSelection()
	res := r.result
	if res.Err != nil || !res.Matches && !res.Teardown || !r.impersonates() {
		return
	}
	r.expansion.listChildren()
	var failed *Failure
	if !res.Teardown {
		failed = r.validate()
	}
	r.forgetWaiting()
	if failed == nil {
		r.renderChildren()
		r.renderPatch()
	}
	r.renderStatus()
	r.statusConditions.renderConditions()
	if failed != nil { // Nothing but the status follows an invalid resource, and says so.
		res.Err, res.Invalid, res.Children = failed, true, res.Children[:0]
	}
}

// begin prepares the run for the expressions of a rule.
func (r *run) begin(rule *Rule, res *RuleResult) {
	r.rule, r.result, r.child, r.current, r.element = rule, res, nil, nil, element{}
	r.lets = resize(r.lets, len(rule.lets))
	clear(r.lets)
	r.lookups = resize(r.lookups, len(rule.Lookups))
	clear(r.lookups)
	r.primaryReads = r.primaryReads[:0]
	r.absent, r.work, r.spent, r.named, r.clock = r.absent[:0], 0, 0, 0, expr.ClockAt(r.in.Now)
	if rule.Remembers() {
		res.Done, res.DoneErr = doneIn(r.annotations, rule)
	}
}

// carriesFinalizer reports whether the primary has the rule's finalizer. It was
// set when the rule selected the primary.
func (r *run) carriesFinalizer() bool {
	finalizers, _ := mapAt(r.in.Self, "metadata")["finalizers"].([]any)
	return slices.Contains(finalizers, any(Finalizer(r.rule.Name)))
}

// abort removes everything that a rule has rendered.
func (r *run) abort(start int, err *expr.Error) {
	r.buf = r.buf[:start]
	r.stopRule(r.settling.failure("", "", err))
}

// stopRule ends the rendering of a rule with an error.
func (r *run) stopRule(f *Failure) {
	res := r.result
	*res = RuleResult{Rule: res.Rule, Matches: true, Err: f, Children: res.Children[:0], Conditions: res.Conditions[:0],
		UndecidedConditions: res.UndecidedConditions[:0]}
}

// impersonates reports whether the rule's account can be impersonated.
func (r *run) impersonates() bool {
	if r.rule.Account == nil || r.rule.Account.Namespace != "" || r.primary.namespace != "" {
		return true
	}
	if _, err := r.rule.Account.In(r.primary.namespace); err != nil {
		r.stopRule(r.settling.failure("", "", &expr.Error{Pos: r.rule.accountPos, Message: err.Error()}))
		return false
	}
	return true
}

// decideSelection sets whether the rule selects the object, or why that is not known.
func (r *run) decideSelection() {
	matches := r.matches()
	if r.result.Err == nil {
		r.result.Matches = matches
		r.result.Teardown = r.primary.deleted || !matches && r.carriesFinalizer()
	}
}

// MaySelect reports whether the rule selects a primary or has to delete its objects
// there, as a rendering of the same input would. If for.when fails, it may.
func (r *Rule) MaySelect(in Input) bool {
	res := RuleResult{Rule: r}
	one := runs.Get().(*run)
	defer runs.Put(one)
	one.enter(in, r.GVK)
	one.evaluate(r, &res, (*run).decideSelection)
	one.forget()
	return res.Err != nil || res.Matches || res.Teardown
}

// matches reports whether the rule selects the object. If the answer is not known,
// the rule fails, because reconcel deletes the children of an object that does not
// match.
func (r *run) matches() bool {
	rule := r.rule
	if rule.ForCluster() {
		return BundleRule(r.in.Self) == rule.Name
	}
	if !rule.Follows(r.primary.namespace) || isInternal(rule.GVK.GroupKind(), r.in.Self) {
		return false
	}
	if !rule.Selector.Empty() && !rule.Selector.Matches(LabelsOf(r.in.Self)) {
		return false
	}
	if rule.when == nil || r.primary.deleted {
		return true
	}
	yes, res := r.evaluator.evalBool(rule.when)
	if res.unknown != nil {
		res.err = &expr.Error{Pos: rule.when.Pos(),
			Message: expr.Trails(res.unknown)[0] + " is not there yet: read it with .? or has()"}
	}
	if res.err != nil {
		r.stopRule(r.settling.failure("", rule.Selection+".when", res.err))
		return false
	}
	return yes
}

// validate evaluates the checks, and returns which of them fail. A check that waits passes for now, because the
// rule itself may be about to create the object that it waits for. One that calls fail() is false, with its message.
func (r *run) validate() *Failure {
	var said []byte
	reason := InvalidSpec // of the first false check
	var failed *Failure   // The message of a false check takes precedence over an error of another one.
	for i := range r.rule.checks {
		k := &r.rule.checks[i]
		yes, res := r.evaluator.evalBool(k.prog)
		isFalse := res.ok() && !yes || res.err != nil && res.err.Authored
		if res.err != nil && !isFalse && failed == nil {
			failed = r.settling.failure("", fmt.Sprintf("validate[%d]", i), res.err)
		}
		if !isFalse {
			continue
		}
		if said != nil {
			said = append(said, "; "...)
		} else if k.reason != "" {
			reason = k.reason
		}
		if said = append(said, r.checkMessage(k, res.err)...); len(said) > maxMessage {
			said = append(said[:maxMessage-len("…")], "…"...)
			break
		}
	}
	if said != nil {
		failed = &Failure{Reason: reason, Message: strings.ToValidUTF8(string(said), "")}
	}
	return failed
}

// checkMessage returns the message of a failed check. said is the error of fail(), or nil.
func (r *run) checkMessage(k *check, said *expr.Error) string {
	if said != nil {
		return said.Message
	}
	if k.message != nil {
		if s, res := r.texts.text(k.message); res.ok() && s != "" {
			return s
		}
	}
	return k.prog.Text() + " is false"
}

// A ruleObject is an object and the rule that renders it.
type ruleObject struct {
	rule string
	d    *Desired
}

// An objectKey identifies an object in all versions of its kind.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// failDuplicates fails children that render the same object. A child whose when waits may be excluded: two children can
// exclude each other.
func (r *run) failDuplicates(rules []RuleResult) {
	if r.objects < 2 {
		return
	}
	first := make(map[objectKey]ruleObject, r.objects)
	for i := range rules {
		for j := range rules[i].Children {
			c := &rules[i].Children[j]
			if c.State == Waiting && !c.included {
				continue
			}
			objects := c.Objects
			for k := range objects {
				d := &objects[k]
				if d.State == Excluded || d.Identity.Name == "" {
					continue
				}
				this, key := ruleObject{rules[i].Rule.Name, d},
					objectKey{d.Identity.GVK.GroupKind(), d.Identity.Namespace, d.Identity.Name}
				if other, taken := first[key]; taken {
					this.fail(other)
					other.fail(this)
					continue
				}
				first[key] = this
			}
		}
	}
}

// fail fails an object that another child renders, too.
func (c ruleObject) fail(other ruleObject) {
	d := c.d
	if d.State == Failed {
		return // Its own error takes precedence.
	}
	d.State, d.Waits, d.duplicate = Failed, d.Waits[:0], true
	d.Readiness, d.Reason = kstatus.Progressing, cannotRender
	d.Err = &Failure{Reason: RuleError, Message: fmt.Sprintf(
		"%s: rule %q: %s: metadata.name: %s of rule %q has the same kind, namespace and name",
		d.Child.name.pos, c.rule, d.Subject(), other.d.Subject(), other.rule)}
}

// awaitPrevious closes the gate of each object of a sequence behind the first one that is not
// ready. It comes after everything that can make an object fail.
func (res *RuleResult) awaitPrevious() {
	for i := range res.Children {
		if c := &res.Children[i]; c.Child.Sequential {
			c.awaitPrevious()
		}
	}
}

func (c *ChildResult) awaitPrevious() {
	why := ""
	for i := range c.Objects {
		d := &c.Objects[i]
		switch {
		case d.State == Excluded:
		case why != "":
			if d.State == Rendered {
				d.Waits = mergeSorted(d.Waits, []string{why})
			}
		case d.Readiness != kstatus.Ready:
			why = d.unready(fmt.Sprintf("%s[%d]", d.Child.ID, d.Index))
		}
	}
}
