package rules

import (
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/syntax"
)

// A Program is a compiled set of rules. It is immutable and may be used by
// any number of goroutines.
type Program struct {
	primaries []*Primary
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
	Pos        syntax.Pos
	GVK        schema.GroupVersionKind
	Namespaces []string        // names or globs; empty means all
	Selector   labels.Selector // never nil
	Children   []*Child        // in dependency order
	StatusKeys []string        // top-level status fields that the rule writes, sorted
	Conditions []string        // types of the conditions that the rule writes

	when       *expr.Program // for.when, or nil
	vars       map[string]variable
	lets       []*let
	checks     []check
	status     *template // or nil
	conditions []condition
}

// A Child is one compiled child template.
type Child struct {
	ID       string
	Pos      syntax.Pos
	GVK      schema.GroupVersionKind
	OnDelete Policy

	when      *expr.Program // or nil
	name      *text
	namespace *text // or nil: the primary's own
	body      *template
	readyWhen *expr.Program // or nil
	gates     []int         // indexes of the children whose readiness it comes after
	gone      *types.Unknown
}

// A Policy says what becomes of a child when its primary goes.
type Policy int

// What becomes of a child when its primary is deleted.
const (
	Delete Policy = iota // it goes too, by its owner reference
	Orphan               // it stays: it carries no owner reference
)

// Labels and annotations by which reconcel marks what it makes.
const (
	LabelRule         = "reconcel.dev/rule"
	LabelChild        = "reconcel.dev/child"
	AnnotationApplied = "reconcel.dev/applied" // hash of the rendering that was last applied
	AnnotationOwner   = "reconcel.dev/owner"   // UID/Kind.group/namespace/name of the primary, where no owner reference may stand
)

// BuiltIn reports whether an API group is one of Kubernetes' own.
func BuiltIn(group string) bool { return ownGroups[group] || group == "apiextensions.k8s.io" }
