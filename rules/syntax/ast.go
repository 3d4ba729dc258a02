package syntax

import "time"

// A File is everything the sources say, in the order in which they say it.
// Parsed without a complaint it is well formed (known keys, right shapes, ids
// that are identifiers), but no expression in it has been compiled yet. After a
// complaint anything may be missing.
type File struct {
	Rules []*Rule
}

// A Rule says which objects it is for and what they own.
type Rule struct {
	Pos        Pos // of the rule's first key
	Name       String
	For        For
	Let        []*Let
	Lookups    []*Lookup
	Validate   []*Check
	Children   []*Child
	Patch      *Node // a map, or nil
	Status     *Node // a map, or nil
	Conditions []*Condition
	Finalize   []*Child // with a Timeout each
	// Teardown is "", "background" or "ordered".
	Teardown     String
	RequeueAfter Duration // 0: never
	// OnRuleRemoval is "", "keep" or "delete".
	OnRuleRemoval String
	Allow         Allow
	Account       Account
	// Lost are names that something was to get which could not be read.
	Lost []string
	// Nameless says that there is more of that, with names nobody can tell.
	Nameless bool
}

// For selects the primary objects of a rule.
type For struct {
	Pos        Pos
	APIVersion String
	Kind       String
	Namespaces []String // names or glob patterns; empty means all
	Selector   *Node    // a literal metav1.LabelSelector, or nil
	When       *Expr    // nil: always
}

// A Let is a named value: either an expression or data, never both.
type Let struct {
	Name  String
	Unfit bool  // the name cannot stand for a value
	Expr  *Expr // a string in the file is CEL
	Data  *Node // a map or list is data
}

// A Check is one entry of validate.
type Check struct {
	Pos        Pos
	Entry      string // validate[0], as complaints call it
	Expression *Expr
	Message    *Node // text that may hold ${...}; nil: the expression itself is quoted
}

// A Lookup is one entry of lookups. It has either a Name or a Selector.
type Lookup struct {
	Pos        Pos
	Entry      string // lookups[0] "settings", as complaints call it
	ID         String
	Unfit      bool // the id cannot stand for a value
	APIVersion String
	Kind       String
	Namespace  *Node // text that may hold ${...}; nil: the primary's own
	Name       *Node // text that may hold ${...}, or nil
	Selector   *Node // data that gives a metav1.LabelSelector, or nil
}

// A Child is one entry of children or finalize.
type Child struct {
	Pos       Pos
	Entry     string // children[0] "web", as complaints call it
	ID        String
	Unfit     bool // the id cannot stand for a value
	When      *Expr
	After     []String
	ForEach   []*Iterator
	Replicas  *Expr // nil: a single object, or one for each element
	ReadyWhen *Expr
	FailWhen  *Expr
	IfExists  String // "", "fail" or "adopt"
	OnChange  String // "", "apply", "replace" or "keep"
	OnDelete  String // "", "delete" or "orphan"

	MaxUnavailable *Expr
	IgnoreFields   []*FieldPath
	Timeout        Duration // of an entry of finalize
	Template       *Node    // a map whose apiVersion and kind are literal strings
}

// An Iterator is one entry of forEach.
type Iterator struct {
	Pos   Pos
	Name  String
	Index String // Value is "" without one
	In    *Expr
	Unfit bool // the name or index cannot stand for a value
}

// A FieldPath is one entry of ignoreFields. It names a field of an object by the
// keys that lead to it.
type FieldPath struct {
	Pos   Pos
	Entry string   // ignoreFields[0], as complaints call it
	Text  string   // the path as it was written
	Keys  []string // never empty
	When  *Expr    // nil: always
}

// A Duration is a literal duration of the file and its place.
type Duration struct {
	Value time.Duration
	Pos   Pos
}

// Allow is what a rule may do beyond the namespace of its primary.
type Allow struct {
	ClusterScoped  []GroupKind
	Namespaces     []String // names or glob patterns
	ReadNamespaces []String // names or glob patterns
}

// An Account is the ServiceAccount as which a rule writes.
type Account struct {
	Pos       Pos
	Namespace string // "": that of the primary
	Name      string // "": there is none
}

// A GroupKind names a kind without its version.
type GroupKind struct {
	Pos   Pos
	Group string // "" is the core group
	Kind  string
}

// A Condition is one entry of conditions.
type Condition struct {
	Pos     Pos
	Entry   string // conditions[0] "Available", as complaints call it
	Type    String
	When    *Expr
	Reason  *Node // text that may hold ${...}, or nil
	Message *Node // likewise
}

// A String is a literal string of the file and its place.
type String struct {
	Value string
	Pos   Pos
}

// A NodeKind tells the shapes of data apart.
type NodeKind int

// The kinds of Node.
const (
	Null   NodeKind = iota
	Bool            // Value is a bool
	Int             // Value is an int64
	Float           // Value is a float64
	Text            // Value is a string without any ${...}
	Interp          // Parts: a string with at least one ${...}
	List            // Items
	Map             // Fields, in the order of the file
)

// A Node is data in which ${CEL} stands for values.
type Node struct {
	Kind   NodeKind
	Pos    Pos
	Value  any
	Parts  []Part
	Items  []*Node
	Fields []Field
	// Lacking says that there is more in the map or list, which could not be read.
	Lacking bool
}

// A Field is one entry of a map; keys are always literal.
type Field struct {
	Key   String
	Value *Node
}

// A Part of an interpolated string is either literal text or an expression.
// An Interp node with a single Expr part keeps the expression's type; with
// more parts the result is a string.
type Part struct {
	Text string
	Expr *Expr // nil for literal text
}
