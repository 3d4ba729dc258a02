package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Program is a compiled set of rules. It is immutable and safe for concurrent
// use.
type Program struct {
	sources     []source.File
	documents   []syntax.Document
	primaries   []*Primary
	expressions []Expression
	reads       Reads
	incomplete  bool
	foreign     map[*Rule]bool // those of other programs, by Compose
}

// AsIncomplete returns the same rules for an installation that has others, which could not be read. What the
// program lacks does not count as removed.
func (p *Program) AsIncomplete() *Program {
	incomplete := *p
	incomplete.incomplete = true
	return &incomplete
}

// Incomplete reports whether the installation has rules that the program lacks.
func (p *Program) Incomplete() bool { return p.incomplete }

// Sources returns the files that the program was compiled from.
func (p *Program) Sources() []source.File { return p.sources }

// HasTextOf reports whether Sources have the text of a rule of the program: not if Compose took it from another one.
func (p *Program) HasTextOf(r *Rule) bool { return !p.foreign[r] }

// Approves reports whether the document that has a rule, in this or another version, approves a change of it.
func (p *Program) Approves(of *Rule, hash string) bool {
	return slices.ContainsFunc(p.documents, func(d syntax.Document) bool {
		return d.Origin == of.Origin && slices.Contains(d.Approved, hash)
	})
}

// ObjectOf returns the name of the Rules object that has a rule, in this or another version, or "" for none.
func (p *Program) ObjectOf(of *Rule) string {
	if slices.ContainsFunc(p.documents, func(d syntax.Document) bool { return d.Origin == of.Origin }) {
		return of.Origin.Object
	}
	return ""
}

// Reads returns what is read of the objects of each kind.
func (p *Program) Reads() Reads { return p.reads }

// Primaries returns the primary kinds of the program, in the order of the first
// rule for each.
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
	Origin     syntax.Origin
	Digest     source.Digest           // of all that it is compiled from
	GVK        schema.GroupVersionKind // of a rule for the cluster: BundleKind
	Selection  string                  // for or for[0], as errors show it
	Namespaces []string                // names or globs; empty means all
	Selector   labels.Selector         // never nil
	Children   []*Child                // in dependency order, with those of finalize
	Lookups    []*Lookup
	StatusKeys []string // top-level status fields that the rule writes, sorted

	statusPaths map[string][]string // the keys that lead to a field below status, by its name in messages

	Ordered         bool // teardown: ordered
	DeleteOnRemoval bool // onRuleRemoval: delete
	Annotates       bool // report: annotation
	Rollout         Rollout
	RequeueAfter    time.Duration // 0: reconcile only when something changes
	Account         *Account      // the account to impersonate; nil: reconcel's own

	when        *expr.Program // for.when, or nil
	expressions []Expression  // all that the rule can run, in the order of the file
	vars        map[string]variable
	idCalls     map[string]idCall // by the variables that they read
	lets        []*let
	defined     []*expr.Definition // the values of define that the rule reads
	checks      []check
	patch       *template // or nil
	patched     []patchedField
	ownFields   []*patchedField // those of patched that are computed from themselves
	status      *template       // or nil
	conditions  []condition
	allow       allow
	accountPos  source.Pos
	finalizes   bool // the rule has finalize
	loops       bool // some of its expressions have loops
}

// MayNeedFinalizer reports whether some primary may need the rule's finalizer.
func (r *Rule) MayNeedFinalizer() bool {
	if r.ForCluster() {
		return false // Its objects stay when the ConfigMap of the bundle is deleted.
	}
	return r.OrdersTeardown() || r.Shares() || len(r.allow.clusterScoped) > 0 || len(r.allow.namespaces) > 0
}

// ChildKinds returns the kinds of the rule's children.
func (r *Rule) ChildKinds() (kinds []schema.GroupVersionKind) {
	for _, c := range r.Children {
		kinds = append(kinds, c.GVK)
	}
	return kinds
}

// OrdersTeardown reports whether a rule determines the order of its teardown, which the
// garbage collector does not keep.
func (r *Rule) OrdersTeardown() bool {
	return !r.ForCluster() && (r.finalizes || r.Ordered ||
		slices.ContainsFunc(r.Children, func(c *Child) bool { return c.Sequential }))
}

// Shares reports whether several primaries may share an object of the rule.
func (r *Rule) Shares() bool {
	return slices.ContainsFunc(r.Children, func(c *Child) bool { return c.Shared })
}

// WritesPrimary reports whether the rule may write more than the status of its
// primary: a patch or marks.
func (r *Rule) WritesPrimary() bool { return r.Patches() || r.MarksPrimary() }

// MarksPrimary reports whether some primary may carry marks that must not stay when the
// rule is removed: its finalizer, the annotation that reports the status, or that of
// what its objects have done.
func (r *Rule) MarksPrimary() bool { return r.Annotates || r.MayNeedFinalizer() || r.Remembers() }

// SetsConditions reports whether the rule has conditions of its own.
func (r *Rule) SetsConditions() bool { return len(r.conditions) > 0 }

// Patches reports whether the rule has a patch for its primary.
func (r *Rule) Patches() bool { return r.patch != nil }

// A Child is one compiled entry of children or finalize.
type Child struct {
	ID       string
	Rule     *Rule // the rule of this child
	Pos      source.Pos
	GVK      schema.GroupVersionKind
	OnDelete Policy
	OnChange Change
	// Sequential: each object waits until those before it are ready, and the last one is
	// deleted first.
	Sequential bool
	MaxObjects int           // how many objects it may have; 0: it shares the default with others
	Adopt      bool          // adopt an existing object without a controller
	Shared     bool          // several primaries of the rule may have the same object
	Extends    bool          // Shared, and the object may be one of others, which stays
	Timeout    time.Duration // of an entry of finalize, counted from the deletion of the primary; 0 for children

	when      *expr.Program // or nil
	name      *text         // for replicas, the prefix of generated names
	namespace *text         // or nil: the primary's own
	loop
	keyed       bool          // byKey() reads it
	replicas    *expr.Program // or nil
	unavailable *expr.Program // maxUnavailable, or nil
	ignored     []ignoredField
	body        *template
	readyWhen   *expr.Program // or nil
	failWhen    *expr.Program // or nil
	tracked     bool          // it never has an owner reference
	allowed     bool          // its kind is in allow.clusterScoped
	gates       []int         // indexes of the children that must be ready first
	gone        *types.Unknown
}

// IsCollection reports whether the child may have any number of objects.
func (c *Child) IsCollection() bool { return c.replicas != nil || len(c.iterators) > 0 }

// Allowed reports whether the kind of the child is in allow.clusterScoped.
func (c *Child) Allowed() bool { return c.allowed }

// mostObjects returns how many objects the child may have.
func (c *Child) mostObjects() int { return cmp.Or(c.MaxObjects, maxChildren) }

// howToRaise ends the message of a limit that maxObjects can raise.
func (c *Child) howToRaise() string {
	if c.MaxObjects > 0 || !c.IsCollection() {
		return ""
	}
	return fmt.Sprintf("; maxObjects of the child allows up to %d", mostChildren)
}

// MayHaveOwnerReference reports whether objects of the child may have an owner reference.
func (c *Child) MayHaveOwnerReference() bool { return !c.tracked }

// HasReplicas reports whether its objects are replicas: only their number
// matters.
func (c *Child) HasReplicas() bool { return c.replicas != nil }

// Replaces reports whether a changed rendering is applied by deleting the object and creating it again.
func (c *Child) Replaces() bool { return c.OnChange == Replace || c.OnChange == Once }

// keeps reports whether the child is left unchanged once it exists.
func (c *Child) keeps() bool { return c.OnChange == Keep || c.Timeout > 0 }

// A Policy is what happens to a child when its primary is deleted.
type Policy int

// Policies of deletion.
const (
	Delete Policy = iota // it is deleted too
	Orphan               // it stays: it has no owner reference
)

// A Change is how a changed rendering is applied to an existing object.
type Change int

// Ways to apply a changed rendering.
const (
	Apply   Change = iota // apply the change
	Replace               // delete the object and create it again
	Keep                  // ignore the change
	Once                  // like Replace; an object that was ready is not missed when it is gone
)
