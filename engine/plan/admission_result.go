package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"reconcel/engine/ident"
	"reconcel/engine/leader"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// An AdmissionResult says which rules of a plan this process must not apply, because another
// installation has a rule of the same name for the same kind. It is computed before
// any write, and is immutable.
type AdmissionResult struct {
	Refused map[*rules.Rule]RefusedRule
	// TakenOver has, by rule, the installations whose objects now belong to this one.
	TakenOver map[string][]string
	Checked   map[*watch.Watch]Extent // the objects that were checked
}

// An Extent is what a watch had listed at one time: a cache, and how many of its
// namespaces were listed.
type Extent struct {
	Cache      *watch.Cache
	namespaces int
}

// ExtentOf returns what a watch has listed, and false if it has listed nothing.
func ExtentOf(w *watch.Watch) (Extent, bool) {
	c, err := w.Cache()
	if err != nil {
		return Extent{}, false
	}
	return Extent{Cache: c, namespaces: c.Listed()}, true
}

// A RefusedRule says why a rule is inactive.
type RefusedRule struct {
	Key     string // changes only when the situation does
	Message string
}

// Refuses reports whether a rule must not be applied. A nil result refuses nothing.
func (v *AdmissionResult) Refuses(r *rules.Rule) bool {
	if v == nil {
		return false
	}
	_, refused := v.Refused[r]
	return refused
}

// Why says why a rule is refused; "" if it is not.
func (v *AdmissionResult) Why(r *rules.Rule) string {
	if v == nil {
		return ""
	}
	return v.Refused[r].Message
}

// Unchecked reports whether a cache has objects that were not checked: they may
// belong to another installation.
func (v *AdmissionResult) Unchecked(pk *PrimaryKind, r *rules.Rule) bool {
	if v == nil {
		return false
	}
	for _, w := range pk.ByRule[r] {
		if l, ok := ExtentOf(w); ok && v.Checked[w] != l {
			return true
		}
	}
	return false
}

// Inherits reports whether an object of a rule has the mark of an installation that
// was taken over.
func (v *AdmissionResult) Inherits(o *watch.Object) bool {
	return v != nil && len(v.TakenOver) > 0 && slices.Contains(v.TakenOver[o.Rule()], o.Installation())
}

// OwnersOf returns the other installations whose objects of a rule now belong to this
// one.
func (v *AdmissionResult) OwnersOf(rule string) []string {
	if v == nil {
		return nil
	}
	return v.TakenOver[rule]
}

// RefusesAll reports whether all rules of a primary kind are refused.
func (v *AdmissionResult) RefusesAll(pk *PrimaryKind) bool {
	return v != nil && len(v.Refused) > 0 &&
		!slices.ContainsFunc(pk.Rules, func(r *rules.Rule) bool { return !v.Refuses(r) })
}

// RefusesAny reports whether a rule of a primary kind is refused.
func (v *AdmissionResult) RefusesAny(pk *PrimaryKind) bool {
	return v != nil && len(v.Refused) > 0 && slices.ContainsFunc(pk.Rules, v.Refuses)
}

// A RuleOf identifies a rule by the marks on its objects: its name, and the kind of
// their primary.
type RuleOf struct {
	Name string
	Kind schema.GroupKind
}

// ShowsOwner reports whether a primary is in the caches.
func (pl *Plan) ShowsOwner(owner ident.Request) bool {
	pk := pl.Primaries[owner.Kind]
	if pk == nil {
		return false
	}
	c, err := pk.Watch.Cache()
	if err != nil {
		return false
	}
	if !c.Kind().Namespaced {
		owner.Namespace = ""
	}
	self, _ := c.Get(owner.Namespace, owner.Name)
	return self != nil && rules.UIDOf(owner.Kind, self) == owner.UID
}

// Refuse records that objects of a rule belong to another installation.
func (v *AdmissionResult) Refuse(r *rules.Rule, other string, objects int, t Leadership) {
	remedy := "stop that installation, or give this rule another name"
	if t.State != LeaseHeld {
		remedy = "to take its objects over, start with --take-over=" + other
	}
	if t.State == LeaseUnknown {
		remedy = "make sure that it has stopped; " + remedy
	}
	was := v.Refused[r]
	message := fmt.Sprintf("%s to the installation %q, %s: %s", objectsBelong(objects), other, t.Says, remedy)
	if was.Message != "" {
		message = was.Message + "; " + message
	} else {
		message = fmt.Sprintf("rule %q: ", r.Name) + message
	}
	v.Refused[r] = RefusedRule{Key: fmt.Sprintf("%s%s %d ", was.Key, other, t.State), Message: message}
}

func objectsBelong(objects int) string {
	if objects == 1 {
		return "1 object belongs"
	}
	return fmt.Sprintf("%d objects belong", objects)
}

// AskCheck makes recheck run now.
func (pl *Plan) AskCheck() {
	select {
	case pl.Unchecked <- struct{}{}:
	default: // A check is pending already.
	}
}

// A leaseState is the state of an installation's Lease.
type leaseState int

// The states of a Lease.
const (
	LeaseHeld    leaseState = iota // a process of the installation runs
	LeaseOver                      // none runs, according to the Lease
	LeaseUnknown                   // the Lease cannot be read
)

// A Leadership says whether another installation is led.
type Leadership struct {
	State  leaseState
	holder string
	// Says completes a message about the installation.
	Says string
}

// LeadershipIn reads a Lease. now tells whether it has expired.
func LeadershipIn(lease *unstructured.Unstructured, now time.Time) Leadership {
	r := leader.RecordOf(lease)
	if r.Holder == "" || r.Renewed.IsZero() {
		return Leadership{State: LeaseOver, Says: "which has stopped"}
	}
	if !now.Before(r.Expires) {
		return Leadership{State: LeaseOver, holder: r.Holder,
			Says: fmt.Sprintf("whose Lease expired %s ago", duration.HumanDuration(now.Sub(r.Expires)))}
	}
	return Leadership{State: LeaseHeld, holder: r.Holder,
		Says: fmt.Sprintf("whose Lease is held by %s, renewed %s ago", r.Holder,
			duration.HumanDuration(max(0, now.Sub(r.Renewed))))}
}
