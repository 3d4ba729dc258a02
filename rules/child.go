package rules

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
)

// listChildren lists the rule's children, of which nothing is known yet.
func (r *run) listChildren() {
	children := resize(r.result.Children, len(r.rule.Children))
	for i := range children {
		waits := children[i].Waits[:0]
		children[i] = Desired{Child: r.rule.Children[i], Waits: waits}
	}
	r.result.Children = children
}

// renderChildren decides about each child, in the order in which they depend
// on each other.
func (r *run) renderChildren() {
	for i := range r.result.Children {
		d := &r.result.Children[i]
		r.prepare(d)
		if d.State == Rendered {
			r.write(d)
		}
		r.assess(d)
		if d.State == Rendered {
			r.closedGates(d)
		}
	}
}

// prepare settles whether a child should exist and which object it is.
func (r *run) prepare(d *Desired) {
	if d.prepared || d.preparing {
		return
	}
	d.preparing = true
	defer func() { d.prepared, d.preparing = true, false }()
	if p := d.Child.when; p != nil {
		yes, res := r.truth(p)
		switch {
		case !res.ok():
			r.settle(d, "when", res)
		case !yes:
			d.State = Excluded
		}
		if d.State == Excluded {
			return
		}
	}
	if !r.identify(d) {
		return
	}
	if r.in.Observed != nil {
		d.Live = r.in.Observed(d.Identity)
	}
}

// identify computes the name and namespace of a child. It does so also for a
// child that has to wait: whatever exists can still be read.
func (r *run) identify(d *Desired) bool {
	id := Identity{GVK: d.Child.GVK, Namespace: r.primary.namespace}
	var res result
	if id.Name, res = r.text(d.Child.name); !res.ok() {
		r.settle(d, d.Child.name.where, res)
		return false
	}
	if why := illegalName(id.Name); why != "" {
		r.refuse(d, d.Child.name, why)
		return false
	}
	if t := d.Child.namespace; t != nil {
		if id.Namespace, res = r.text(t); !res.ok() {
			r.settle(d, t.where, res)
			return false
		}
		if why := r.illegalNamespace(id.Namespace); why != "" {
			r.refuse(d, t, why)
			return false
		}
	}
	d.Identity = id
	return true
}

// illegalName says why no object can have a name. Some kinds allow less.
func illegalName(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case name == "." || name == "..":
		return "the name is . or .."
	case strings.ContainsAny(name, "/%"):
		return "the name holds / or %"
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return fmt.Sprintf("the name is longer than %d characters", validation.DNS1123SubdomainMaxLength)
	}
	for _, c := range name {
		if c < ' ' || c == 0x7f || c == '\ufffd' {
			return "the name holds characters that do not print"
		}
	}
	return ""
}

// illegalNamespace says why a child cannot be in a namespace. Whoever may
// create a primary must not thereby write into other namespaces.
func (r *run) illegalNamespace(ns string) string {
	if len(validation.IsDNS1123Label(ns)) > 0 {
		return "it is not the name of a namespace"
	}
	if r.primary.namespace != "" && ns != r.primary.namespace {
		return "it is another namespace than the primary's, which needs allow, and that is not supported yet"
	}
	return ""
}

// refuse fails a child whose name or namespace cannot be.
func (r *run) refuse(d *Desired, t *text, why string) {
	pos := t.pos
	for _, p := range t.parts {
		if p.prog != nil {
			pos = p.prog.Pos()
			break
		}
	}
	r.settle(d, t.where, result{err: &expr.Error{Pos: pos, Message: why}})
}

// settle notes what keeps a child from being rendered. An error is worse than
// waiting, and what waits for an excluded child is excluded itself.
func (r *run) settle(d *Desired, where string, res result) {
	switch {
	case res.err != nil:
		d.State, d.Waits = Failed, d.Waits[:0]
		if d.Err == nil {
			d.Err = r.failure(subject(d), where, res.err)
		}
	case res.unknown != nil && d.State != Failed:
		if r.excluded(res.unknown) != nil {
			d.State = Excluded
			d.Waits = d.Waits[:0]
			return
		}
		if d.State != Excluded {
			d.State = Waiting
			d.Waits = merged(d.Waits, expr.Trails(res.unknown))
		}
	}
}

func subject(d *Desired) string { return fmt.Sprintf("child %q", d.Child.ID) }

// write renders the object of a child into the buffer.
func (r *run) write(d *Desired) {
	start := len(r.buf)
	r.limit = start + maxObject
	r.current = d
	r.marks = r.marks[:0]
	if o, res := r.execute(d.Child.body.ops); !res.ok() {
		r.buf = r.buf[:start]
		r.settle(d, o.where, res)
		return
	}
	if why := oversize(r.buf[start:]); why != "" {
		r.buf = r.buf[:start]
		r.settle(d, "template", result{err: &expr.Error{Pos: d.Child.Pos, Message: why}})
		return
	}
	d.span = span{start, len(r.buf)}
	sum := sha256.Sum256(r.buf[start:])
	copy(d.Hash[:], sum[:])
}

// maxAnnotations is what the API server takes of annotations.
const maxAnnotations = 256 << 10

const tooLarge = "the object is larger than 1 MiB"

func oversize(body []byte) string {
	if len(body) > maxObject {
		return tooLarge
	}
	if len(body) > maxAnnotations {
		if i := bytes.LastIndex(body, annotationsKey); len(body)-i > maxAnnotations {
			return "the annotations are larger than 256 KiB"
		}
	}
	return ""
}

var annotationsKey = []byte(`"annotations":{`)

// closedGates notes which of the children that d comes after are not ready.
// There is nothing to wait for where a child is not to exist.
func (r *run) closedGates(d *Desired) {
	for _, i := range d.Child.gates {
		before := &r.result.Children[i]
		if before.State == Excluded || before.Readiness == Ready {
			continue
		}
		name := before.Child.ID
		if before.Identity.Name != "" {
			name += " " + quoted(before.Identity.Name)
		}
		d.Waits = merged(d.Waits, []string{name + " to be ready: " + before.Reason})
	}
}

// contest fails the children that want to be one and the same object.
func contest(rules []RuleResult) {
	type claim struct {
		rule string
		d    *Desired
	}
	var all []claim
	for i := range rules {
		for j := range rules[i].Children {
			d := &rules[i].Children[j]
			if d.State == Excluded || d.Identity.Name == "" {
				continue
			}
			for _, other := range all {
				if sameObject(d.Identity, other.d.Identity) {
					this := claim{rules[i].Rule.Name, d}
					collide(this.d, this.rule, other.d, other.rule)
					collide(other.d, other.rule, this.d, this.rule)
				}
			}
			all = append(all, claim{rules[i].Rule.Name, d})
		}
	}
}

func sameObject(a, b Identity) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.GVK.GroupKind() == b.GVK.GroupKind()
}

// collide fails d, of a rule, because another child is the same object.
func collide(d *Desired, rule string, other *Desired, otherRule string) {
	if d.State == Failed {
		return // It has an error to mend first.
	}
	d.State, d.Waits = Failed, d.Waits[:0]
	d.Readiness, d.Reason = Progressing, cannotRender
	d.Err = &Failure{Reason: RuleError, Message: fmt.Sprintf("%s: rule %q: %s: metadata.name: child %q of rule %q has the same kind, namespace and name",
		d.Child.name.pos, rule, subject(d), other.Child.ID, otherRule)}
}
