package rules

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An Identity names one object.
type Identity struct {
	GVK       schema.GroupVersionKind
	Namespace string // "" for cluster-scoped kinds
	Name      string
}

// String prints the object as Kind/namespace/name.
func (id Identity) String() string {
	if id.Namespace == "" {
		return id.GVK.Kind + "/" + id.Name
	}
	return id.GVK.Kind + "/" + id.Namespace + "/" + id.Name
}

// Live is an object as it was last seen in the cluster.
type Live struct {
	Object  map[string]any // read-only; nil: there is none, or it does not belong to the primary
	Applied string         // its AnnotationApplied; "": it counts as up to date (offline rendering)
	Deleted bool           // its deletion was requested, even if Object does not show it yet
}

// A Query asks for objects of the kind of a lookup. For a cluster-scoped kind the
// namespace has no meaning.
type Query struct {
	Namespace  string          // "" where the primary has none
	Everywhere bool            // in all namespaces
	Name       string          // of one object, or
	Selector   labels.Selector // of any number
}

// ErrUnwatched is the answer to a query about a kind that is not watched yet. The
// lookup is then unknown, even if it is a list.
var ErrUnwatched = errors.New("its kind is not watched yet")

// Input is all that a rendering may read.
type Input struct {
	Self map[string]any // the primary; read-only
	// Installation is the value of AnnotationInstallation in the body of an
	// apply; "" leaves the annotation out. It is not part of the rendering.
	Installation string
	// Observed returns the live child of that identity, if it exists and
	// belongs to the primary.
	Observed func(Identity) Live
	// Owned returns all live objects that belong to the primary and were created
	// for a child of this rule, in any order. It is used for replicas, and for
	// collections whose desired objects are not known.
	Owned func(*Rule, *Child) []Live
	// Lookup returns the objects that match a query, read-only, sorted by namespace
	// and name; at most one if the query has a name. Its error is the rule's
	// mistake, unless it is ErrUnwatched.
	Lookup func(*Lookup, Query) ([]map[string]any, error)
	// Timeout limits the time of a rule that has loops; 0: no limit. On a machine
	// that is not overloaded, the budget of loops ends first, which unlike time is
	// the same everywhere.
	Timeout time.Duration
	// Coverage, if any, records which expressions ran. It is not part of a
	// Rendering, because those are pooled.
	Coverage *Coverage
}

// A Rendering is what all rules want for one primary object.
type Rendering struct {
	Rules []RuleResult // one for each of Primary.Rules, in that order

	buf []byte // all bytes of the rendering
}

// A RuleResult is what one rule wants for one primary object.
type RuleResult struct {
	Rule    *Rule
	Matches bool // false: the object is not selected by the rule's for
	// Leaving: the object is being deleted, or no longer matches but still carries
	// the rule's finalizer. Then only the entries of finalize are applied, and the
	// other objects are deleted.
	Leaving bool
	// Err is why the rule as a whole could not be rendered (for.when or a validate
	// check). Its children, status and conditions are then empty.
	Err        *Failure
	Children   []ChildResult // one for each of Rule.Children, in that order
	Patch      []byte        // a JSON object for the primary itself; empty: the rule has no patch, or it failed or waits
	PatchErr   *Failure
	PatchWaits []string // what the patch waits for
	Status     []byte   // a JSON object with sorted keys; empty: the rule writes no status
	StatusErr  *Failure // all status fields and conditions that failed; the others are valid
	Conditions []Condition
	// StatusErrs are the single failures of StatusErr, and StatusWaits the fields
	// that have to wait.
	StatusErrs  []Failure
	StatusWaits []FieldWait
	TimedOut    bool // Input.Timeout ended the rendering; a retry may succeed

	patch, status span // of Patch and Status in Rendering.buf
}

// A FieldWait is a field of the status that is left out for now.
type FieldWait struct {
	Field string
	Waits []string // what it waits for
}

// NeedsFinalizer reports whether the primary must carry the rule's finalizer: its
// deletion needs more than Kubernetes' garbage collector does.
func (r *RuleResult) NeedsFinalizer() bool {
	if r.Rule.finalizes || r.Rule.Ordered {
		return true
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

// A span is a piece of the buffer, which moves while it grows.
type span struct{ start, end int }

// A State is what a rendering decided about one child.
type State int

// The states of a child.
const (
	Rendered State = iota // it should exist as rendered
	Excluded              // it should not exist
	Waiting               // something it reads is not there yet: leave what exists alone
	Failed                // it cannot be rendered: leave what exists alone
)

// A ChildResult is what a rule wants of one entry of children or finalize: a
// single object, or with forEach and replicas any number.
type ChildResult struct {
	Child *Child
	// State is Rendered if the desired objects are known; each of them has a state
	// of its own. In state Excluded there are none. In the states Waiting and Failed
	// Objects may be incomplete: nothing may be applied or deleted.
	State   State
	Err     *Failure // set in state Failed
	Waits   []string // set in state Waiting
	Objects []Desired
	// Finished are the Pods of replicas that have ended and do not count, the
	// youngest first.
	Finished       []Live
	MaxUnavailable int // at least 1

	// prepared: the objects are decided, which happens when something first reads
	// the child. preparing: they are being decided.
	prepared, preparing bool
	existing            []any // the objects that exist, by name, once they were read
}

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

// A Failure is an expression that failed for one object. A retry cannot help until
// the rule or the object changes.
type Failure struct {
	Reason  Reason
	Message string // has rule, field and the expression's position, but no values
}

// A Reason classifies a Failure; it is the reason of the Stalled condition and
// of the Event.
type Reason string

// The reasons of a Failure.
const (
	InvalidSpec Reason = "InvalidSpec" // a validate check is false
	RuleError   Reason = "RuleError"   // an expression failed, or its value is invalid there
)

// Error returns the message.
func (f *Failure) Error() string { return f.Message }
