package rules

import (
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A Program is a compiled set of rules. It is immutable and may be used by
// any number of goroutines.
type Program struct {
	primaries   []*Primary
	expressions []Expression
}

// Primaries returns the primary kinds of the program, ordered by the first
// rule that names each.
func (p *Program) Primaries() []*Primary { return p.primaries }

// A Primary is one primary kind with all the rules for it, which render
// together.
type Primary struct {
	GVK   schema.GroupVersionKind
	Rules []*Rule
}

// A Rule is one compiled rule.
type Rule struct {
	Name       string
	Pos        source.Pos
	GVK        schema.GroupVersionKind
	Namespaces []string        // names or globs; empty means all
	Selector   labels.Selector // never nil
	Children   []*Child        // in dependency order, those of finalize among them
	Lookups    []*Lookup
	StatusKeys []string // top-level status fields that the rule writes, sorted
	Conditions []string // types of the conditions that the rule writes

	Ordered         bool          // teardown: ordered
	DeleteOnRemoval bool          // onRuleRemoval: delete
	RequeueAfter    time.Duration // 0: reconcile only when something changes
	Account         *Account      // that the rule impersonates; nil: reconcel's own

	when        *expr.Program // for.when, or nil
	expressions []Expression  // that the rule can run, in the order of the file
	vars        map[string]variable
	existing    map[string]int // the children, by the variables that existing() reads
	lets        []*let
	checks      []check
	patch       *template // or nil
	patched     []patchedField
	status      *template // or nil
	conditions  []condition
	allow       allow
	accountPos  source.Pos
	finalizes   bool // it has finalize
	loops       bool // some of its expressions have
}

// MayNeedFinalizer reports whether there can be a primary that must carry the
// rule's finalizer.
func (r *Rule) MayNeedFinalizer() bool {
	return r.finalizes || r.Ordered || len(r.allow.clusterScoped) > 0 || len(r.allow.namespaces) > 0
}

// WritesPrimary reports whether the rule may write into its primary besides
// status: a finalizer or a patch.
func (r *Rule) WritesPrimary() bool { return r.Patches() || r.MayNeedFinalizer() }

// Patches reports whether the rule has a patch for its primary.
func (r *Rule) Patches() bool { return r.patch != nil }

// A Child is one compiled entry of children or finalize.
type Child struct {
	ID       string
	Rule     *Rule // that it is of
	Pos      source.Pos
	GVK      schema.GroupVersionKind
	OnDelete Policy
	OnChange Change
	Adopt    bool          // an existing object without a controller is adopted
	Timeout  time.Duration // of an entry of finalize, from the deletion of the primary; 0: it is one of children

	when        *expr.Program // or nil
	name        *text         // for replicas, the prefix of generated names
	namespace   *text         // or nil: the primary's own
	iterators   []iterator
	locals      map[string]int // names of the iterators: indexes of Desired.values
	replicas    *expr.Program  // or nil
	unavailable *expr.Program  // maxUnavailable, or nil
	ignored     []ignoredField
	body        *template
	readyWhen   *expr.Program // or nil
	failWhen    *expr.Program // or nil
	tracked     bool          // it never carries an owner reference
	allowed     bool          // its kind is in allow.clusterScoped
	gates       []int         // indexes of the children whose readiness it comes after
	gone        *types.Unknown
}

// Many reports whether the child may have any number of objects.
func (c *Child) Many() bool { return c.replicas != nil || len(c.iterators) > 0 }

// Allowed reports whether the child is of a kind in allow.clusterScoped.
func (c *Child) Allowed() bool { return c.allowed }

// Interchangeable reports whether its objects are replicas: only their number
// matters.
func (c *Child) Interchangeable() bool { return c.replicas != nil }

// keeps reports whether the child is left alone once it exists.
func (c *Child) keeps() bool { return c.OnChange == Keep || c.Timeout > 0 }

// A Policy is what happens to a child when its primary is deleted.
type Policy int

// What happens to a child when its primary is deleted.
const (
	Delete Policy = iota // it is deleted too
	Orphan               // it stays: it carries no owner reference
)

// A Change is how a changed rendering reaches the object.
type Change int

// How a changed rendering reaches the object.
const (
	Apply   Change = iota // it is applied
	Replace               // the object is deleted and created again
	Keep                  // it does not: the object is left alone once it exists
)
