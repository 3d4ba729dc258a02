package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An Identity names one object.
type Identity struct {
	GVK       schema.GroupVersionKind
	Namespace string // "" for cluster-scoped kinds
	Name      string
}

// Live is an object as it was last seen in the cluster.
type Live struct {
	Object  map[string]any // never written to; nil: there is none, or it is not ours
	Applied string         // its AnnotationApplied; "" means that it counts as up to date (offline rendering)
}

// Input is all that a rendering may read.
type Input struct {
	Self map[string]any // the primary; never written to
	// Observed returns the live child of that identity, if it exists and
	// belongs to the primary.
	Observed func(Identity) Live
}

// A Rendering is what the rules say about one primary object.
type Rendering struct {
	Rules []RuleResult // one for each of Primary.Rules, in that order

	buf []byte // all bytes of the rendering
}

// A RuleResult is what one rule says about one primary object.
type RuleResult struct {
	Rule    *Rule
	Matches bool // false: the object is not selected by the rule's for
	// Err says why the rule could not be rendered as a whole (for.when or a
	// validate check); its children, status and conditions are then empty.
	Err        *Failure
	Children   []Desired // in dependency order
	Status     []byte    // a JSON object with sorted keys; empty: the rule writes no status
	StatusErr  *Failure  // a status field or condition that failed; the others stand
	Conditions []Condition

	status span // of Status in Rendering.buf
}

// A span is a piece of the buffer, which moves while it grows.
type span struct{ start, end int }

// A State tells what a rendering decided about one child.
type State int

// The states of a child.
const (
	Rendered State = iota // it should exist as rendered
	Excluded              // it should not exist
	Waiting               // something it reads is not there yet: leave what exists alone
	Failed                // it cannot be rendered: leave what exists alone
)

// Desired is what a rule wants of one child.
type Desired struct {
	Child *Child
	State State
	Err   *Failure // set in state Failed
	// Waits names what an unrendered child waits for, such as
	// "deployment.status.availableReplicas"; in state Rendered it names the
	// closed gates (children it comes after that are not ready): these hold
	// back creation and a changed rendering, but not the repair of drift.
	Waits    []string
	Identity Identity
	Hash     [16]byte // of the normalised rendering
	Live     Live     // what Input.Observed returned for Identity
	// Readiness of the live child with respect to this rendering. An object
	// that does not carry this rendering yet is Progressing.
	Readiness Readiness
	Reason    string // why it is not Ready, for people; "" when Ready

	body []byte // JSON object up to and within metadata.annotations, see AppendApply
	span span   // of body in Rendering.buf
	// prepared says that identity and live object are settled, which happens
	// as soon as something reads the child; preparing, that it is at it.
	prepared, preparing bool
}

// Readiness is what is known of a live child.
type Readiness int

// The degrees of readiness.
const (
	Progressing Readiness = iota
	Ready
	Stalled // it failed, and will not get ready by itself
)

// ConditionStatus is True, False or Unknown, as in metav1.ConditionStatus.
type ConditionStatus string

// The values of ConditionStatus.
const (
	True    ConditionStatus = "True"
	False   ConditionStatus = "False"
	Unknown ConditionStatus = "Unknown"
)

// A Condition is one that a rule computes.
type Condition struct {
	Type    string
	Status  ConditionStatus
	Reason  string // never empty, as metav1.Condition requires: without one in the rule, Type or "Not" + Type
	Message string
}

// A Failure is an expression that failed for one object: the rule and the
// object do not fit together, and trying again cannot help until one changes.
type Failure struct {
	Reason  Reason
	Message string // names rule, field and expression's place; holds no values
}

// A Reason classifies a Failure; it is the reason of the Stalled condition and
// of the Event.
type Reason string

// The reasons of a Failure.
const (
	InvalidSpec Reason = "InvalidSpec" // a validate check said no
	RuleError   Reason = "RuleError"   // an expression failed, or gave what cannot stand where it stands
)

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
