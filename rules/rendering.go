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
	Object  map[string]any // never written to; nil: there is none, or it is not ours
	Applied string         // its AnnotationApplied; "" means that it counts as up to date (offline rendering)
	Deleted bool           // its deletion was asked for, whether Object shows it yet or not
}

// A Query asks for objects of the kind of a lookup. Where that kind is
// cluster-scoped the namespace means nothing.
type Query struct {
	Namespace  string          // "" where the primary has none
	Everywhere bool            // in all namespaces
	Name       string          // of one object, or
	Selector   labels.Selector // of any number
}

// ErrUnwatched is the answer to a query about a kind of which nothing is known
// yet. The lookup is then unknown, also where it is a list.
var ErrUnwatched = errors.New("its kind is not watched yet")

// Input is all that a rendering may read.
type Input struct {
	Self map[string]any // the primary; never written to
	// Installation is the value of AnnotationInstallation in the body of an
	// apply; "" leaves the annotation out. It is not part of the rendering.
	Installation string
	// Observed returns the live child of that identity, if it exists and
	// belongs to the primary.
	Observed func(Identity) Live
	// Owned returns all live objects that belong to the primary and were made
	// from a child of this rule, in any order. It is asked for replicas, and for
	// what exists of a list as long as nobody knows what should be in it.
	Owned func(*Rule, *Child) []Live
	// Lookup returns the objects that a query is about, sorted by namespace and
	// name, never written to; not more than one if it names one. Its error says
	// why the query cannot be answered, and is the rule's mistake unless it is
	// ErrUnwatched.
	Lookup func(*Lookup, Query) ([]map[string]any, error)
	// Timeout is how long a rule may take, as far as it has loops; 0: without
	// end. It is far beyond what the budget of loops allows on any machine that
	// is not overloaded: unlike time, that is the same everywhere.
	Timeout time.Duration
	// Coverage, if any, notes which expressions ran. It is here and not in a
	// Rendering because those are pooled, over all that render in a process.
	Coverage *Coverage
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
	// Leaving: the object is being deleted, or does not match any more but still
	// carries the rule's finalizer. Then only the entries of finalize are to be
	// applied, and the rest is to go.
	Leaving bool
	// Err says why the rule could not be rendered as a whole (for.when or a
	// validate check); its children, status and conditions are then empty.
	Err        *Failure
	Children   []ChildResult // one for each of Rule.Children, in that order
	Patch      []byte        // a JSON object for the primary itself; empty: the rule has no patch, or it failed or waits
	PatchErr   *Failure
	PatchWaits []string // what the patch waits for
	Status     []byte   // a JSON object with sorted keys; empty: the rule writes no status
	StatusErr  *Failure // all status fields and conditions that failed; the others stand
	Conditions []Condition
	// StatusErrs are the failures of StatusErr one by one, and StatusWaits the
	// fields that have to wait.
	StatusErrs  []Failure
	StatusWaits []FieldWait
	TimedOut    bool // Input.Timeout was over before the rule was rendered: another time it may not be

	patch, status span // of Patch and Status in Rendering.buf
}

// A FieldWait is a field of the status that is left out for now.
type FieldWait struct {
	Field string
	Waits []string // what it waits for
}

// NeedsFinalizer reports whether the primary must carry the rule's finalizer:
// something has to be done before it goes that the garbage collector does not
// do.
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

// A State tells what a rendering decided about one child.
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
	// State is Rendered when it is known which objects there should be; what is
	// wanted of each of them is its own. In state Excluded there are none. In
	// the states Waiting and Failed Objects may be incomplete: nothing is to be
	// applied or removed.
	State   State
	Err     *Failure // set in state Failed
	Waits   []string // set in state Waiting
	Objects []Desired
	// Finished are the objects of replicas that have ended and do not count,
	// the youngest first.
	Finished       []Live
	MaxUnavailable int // at least 1

	// prepared says that the objects are settled, which happens as soon as
	// something reads the child; preparing, that it is at it.
	prepared, preparing bool
	existing            []any // the objects that exist, by name, once somebody has asked
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
