package rules

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kindschema "reconcel/rules/schema"
)

// An Identity names one object.
type Identity struct {
	GVK       schema.GroupVersionKind
	Namespace string // "" for cluster-scoped kinds
	Name      string
}

// String returns Kind/namespace/name.
func (id Identity) String() string {
	if id.Namespace == "" {
		return id.GVK.Kind + "/" + id.Name
	}
	return id.GVK.Kind + "/" + id.Namespace + "/" + id.Name
}

// Live is an object as it was last seen in the cluster.
type Live struct {
	Object  map[string]any // read-only; nil: it does not exist, or does not belong to the primary
	Applied string         // its AnnotationApplied; "": assume that it is up to date (offline rendering)
	Deleted bool           // its deletion was requested, even if Object does not show it yet
	// Done is what is known of an object that has done its work and is gone or going. Object has what
	// is left of it. nil: the object exists, or was never done.
	Done *Done
}

// A Query requests objects of a lookup's kind. Namespace is ignored for a
// cluster-scoped kind.
type Query struct {
	Namespace  string          // "" if the primary is cluster-scoped
	Everywhere bool            // in all namespaces
	Name       string          // of one object, or
	Selector   labels.Selector // of any number
}

// ErrUnwatched is the error of a query for a kind that is not watched yet. The
// lookup is then unknown, even if it is a list, and so is previous().
var ErrUnwatched = errors.New("its kind is not watched yet")

// Input is everything that a rendering may read.
type Input struct {
	Self map[string]any // the primary; read-only
	// Numbers are the number fields of the kinds of all objects. A kind that is not in it has none, or its schema is not
	// known: then a whole number is an integer.
	Numbers kindschema.NumberFields
	// Now is the time of the rendering. Expressions only ask whether a moment has come.
	Now time.Time
	// Installation is the value of AnnotationInstallation in an apply; "" omits the
	// annotation. It is not part of the rendering.
	Installation string
	// Observed returns the live child of an identity, if it exists and belongs to
	// the primary.
	Observed func(Identity) Live
	// Owned returns all live objects that belong to the primary and were created
	// for a child of this rule, in any order. It is used for replicas, for previous(),
	// and for collections whose desired objects are not known. The error is ErrUnwatched.
	Owned func(*Rule, *Child) ([]Live, error)
	// Lookup returns the objects that match a query, read-only, sorted by namespace
	// and name. A query with a name returns at most one. An error is a mistake of
	// the rule, unless it is ErrUnwatched.
	Lookup func(*Lookup, Query) ([]map[string]any, error)
	// Exists returns what the cluster has of an object, if Observed and Owned add what the
	// rules render. nil: they return only what the cluster has. Only Explain reads it.
	Exists func(Identity) map[string]any
	// Timeout limits the time of a rule that has loops; 0: no limit. On a machine
	// that is not overloaded, the budget of loops ends first. Unlike time, the
	// budget is the same on every machine.
	Timeout time.Duration
	// Coverage, if not nil, records which expressions ran. It is not part of a
	// Rendering, because renderings are pooled.
	Coverage *Coverage
	// Trace, if not nil, records what expressions read, for Explain.
	Trace *Trace
}

// A Rendering is the desired state of one primary by all rules.
type Rendering struct {
	Rules []RuleResult // one for each of Primary.Rules, in that order

	buf []byte // all bytes of the rendering
}

// A RuleResult is the desired state of one primary by one rule.
type RuleResult struct {
	Rule    *Rule
	Matches bool // false: the rule's for does not select the object
	// Teardown: the object is being deleted, or no longer matches but still carries
	// the rule's finalizer. Then reconcel applies only the entries of finalize, and
	// deletes the other objects.
	Teardown bool
	// Err is why the rule as a whole could not be rendered (for.when or a validate
	// check). Its children and patch are then empty, and so are its status and conditions
	// unless Invalid is set.
	Err      *Failure
	Invalid  bool          // Err is that of a validate check
	Children []ChildResult // one for each of Rule.Children, in that order
	// Done is what objects of the rule have done, by DoneKey. DoneErr is why that cannot be read.
	Done    map[string]*Done
	DoneErr error
	Patch   []byte // a JSON object for the primary itself; empty: the rule has no patch, or it failed or waits
	// OwnFields are the keys of the fields of Patch that are computed from themselves. They are written for the
	// resourceVersion of Input.Self, and stay when the rule no longer writes them: see Split.
	OwnFields  [][]string
	PatchErr   *Failure
	PatchWaits []string // what the patch waits for
	Status     []byte   // a JSON object with sorted keys; empty: the rule writes no status
	StatusErr  *Failure // all status fields and conditions that failed; the others are valid
	Conditions []Condition
	// UndecidedConditions are the indexes of the entries of conditions with forEach whose
	// types are not all known. MayRenderCondition then says which ones may belong to them.
	UndecidedConditions []int
	// StatusErrs are the single failures of StatusErr, and StatusWaits the fields
	// that have to wait.
	StatusErrs []Failure
	// StatusFailed are the paths of the fields of the status that failed, below status.
	StatusFailed [][]string
	StatusWaits  []FieldWait
	TimedOut     bool // Input.Timeout ended the rendering; a retry may succeed
	// Next is when a rendering of the same objects may give another result: a moment
	// that an expression asked for and that has not come. The zero time: never.
	Next time.Time

	patch, status span // of Patch and Status in Rendering.buf
}

// A FieldWait is a field of the status that is omitted for now.
type FieldWait struct {
	Field string
	Waits []string // what it waits for
}

// NeedsFinalizer reports whether the primary must carry the rule's finalizer,
// because its deletion needs more than Kubernetes' garbage collection.
func (r *RuleResult) NeedsFinalizer() bool {
	if r.Rule.finalizes || r.Rule.Ordered {
		return true
	}
	if r.Rule.ForCluster() {
		return false
	}
	for i := range r.Children {
		for j := range r.Children[i].Objects {
			if d := &r.Children[i].Objects[j]; d.Tracked && d.Child.OnDelete == Delete {
				return true
			}
		}
	}
	return false
}

// A span is a range of the buffer. It stays valid when the buffer grows and moves.
type span struct{ start, end int }

// A State is the decision of a rendering about one child.
type State int

// The states of a child.
const (
	Rendered State = iota // it should exist as rendered
	Excluded              // it should not exist
	Waiting               // it reads a value that does not exist yet: leave existing objects unchanged
	Failed                // it cannot be rendered: leave existing objects unchanged
)

// A ChildResult is the desired state of one entry of children or finalize: a single
// object, or any number with forEach or replicas.
type ChildResult struct {
	Child *Child
	// State is Rendered if the desired objects are known; each of them has its own
	// state. In state Excluded there are no objects. In the states Waiting and
	// Failed, Objects may be incomplete: nothing may be applied or deleted.
	State State
	Err   *Failure // set in state Failed
	Waits []string // set in state Waiting
	// Excluded are the ids of excluded children that this one reads, so that it is excluded, too.
	Excluded []string
	Objects  []Desired
	// Finished are the Pods of replicas that have ended and do not count, youngest
	// first.
	Finished       []Live
	MaxUnavailable int // at least 1

	// prepared: the objects are decided, which happens on the first read of the
	// child. preparing: the decision is in progress.
	prepared, preparing bool
	included            bool           // its when is true
	existing            []any          // the existing objects by name, once they were read
	byKey               map[string]any // the existing objects by the keys of their elements, likewise
	previous            []any          // the live objects by name, likewise
}

// ConditionStatus is True, False or Unknown, as in metav1.ConditionStatus.
type ConditionStatus string

// The values of ConditionStatus.
const (
	True    ConditionStatus = "True"
	False   ConditionStatus = "False"
	Unknown ConditionStatus = "Unknown"
)

// A Condition is a condition that a rule computes.
type Condition struct {
	Type    string
	Status  ConditionStatus
	Reason  string // never empty, as metav1.Condition requires: without one in the rule, Type or "Not" + Type
	Message string
	Event   string // the type of the Event that reports a change of the condition; "": none does

	from  *condition
	index int // of the element of forEach
}

// Written returns the type as the rules write it, which is the ID of its part in a Graph.
func (c *Condition) Written() string { return c.from.typ.String() }

// A Failure is an expression that failed for one object. A retry cannot succeed
// until the rule or the object changes.
type Failure struct {
	Reason  Reason
	Message string // contains rule, field and the expression's position, and no values but those in authors' messages
}

// A Reason classifies a Failure. It is the reason of the Stalled condition and of
// the Event. A validate check may have one of its own.
type Reason string

// The reasons of a Failure.
const (
	InvalidSpec Reason = "InvalidSpec" // a validate check is false and has no reason of its own
	RuleError   Reason = "RuleError"   // an expression failed, or its value is invalid there
	FailCalled  Reason = "Failed"      // an expression called fail()
)

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
