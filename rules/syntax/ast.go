package syntax

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
)

// A File contains the rules of all files in their order, each once for each of its kinds. Without errors it is well
// formed (known keys, correct shapes, ids that are identifiers), but its
// expressions are not compiled. After an error, parts may be missing.
type File struct {
	Rules       []*Rule
	Definitions []*Definitions  // of each document that has any
	Documents   []Document      // that are rules, in their order
	PassedOver  []*source.Error // notes about documents of other APIs

	parts map[string]part // of each source without errors and definitions, by name
}

// A part is what one source has of a File.
type part struct {
	text       []byte
	rules      []*Rule
	documents  []Document
	passedOver []*source.Error
}

// A Rule selects primary objects and describes the objects that they own.
type Rule struct {
	Pos    source.Pos // of the rule's first key
	Digest source.Digest
	Origin Origin
	Name   source.String
	For    For
	// Others are the other kinds that the rule is for. The file has the rule once for
	// each, with the rest shared.
	Others   []For
	Schema   FieldSchemas
	Let      []*Let
	Lookups  []*Lookup
	Validate []*Check
	Children []*Child
	// CommonMetadata are the labels and annotations of all children and entries of finalize: a map, or nil.
	CommonMetadata *source.Node
	Patch          *source.Node // a map, or nil
	Status         *source.Node // a map, or nil
	Conditions     []*Condition
	Finalize       []*Child // each has a Timeout
	// Teardown is "", "background" or "ordered".
	Teardown     source.String
	RequeueAfter source.Duration // 0: never
	// OnRuleRemoval is "", "keep" or "delete".
	OnRuleRemoval source.String
	Rollout       Rollout
	// Report is "", "conditions" or ReportAnnotation.
	Report  source.String
	Allow   Allow
	Account Account
	// Definitions are those beside the rule, or nil.
	Definitions *Definitions
	// Lost are names of values that could not be read.
	Lost []string
	// Nameless reports that there are more lost names, which are unknown.
	Nameless bool
}

// For selects the primary objects of a rule, of one kind.
type For struct {
	Pos        source.Pos
	Entry      string // for or for[0], as errors show it
	Digest     source.Digest
	Cluster    bool // there are no primaries; the kind is that of bundles
	APIVersion source.String
	Kind       source.String
	Namespaces []source.String // names or glob patterns; empty means all
	Selector   *source.Node    // a literal metav1.LabelSelector, or nil
	When       *source.Expr    // nil: always
}

// A Let is a named value: either an expression or data, never both.
type Let struct {
	Name     source.String
	Unusable bool         // the name is invalid for a value
	Expr     *source.Expr // a string in the file is CEL
	Data     *source.Node // a map or list is data
}

// A Check is one entry of validate.
type Check struct {
	Pos        source.Pos
	Entry      string // validate[0], as errors show it
	Expression *source.Expr
	Reason     source.String // "": DefaultCheckReason
	Message    *source.Node  // text that may contain ${...}; nil: the message quotes the expression
}

// A Lookup is one entry of lookups. It has either a Name or a Selector.
type Lookup struct {
	Pos        source.Pos
	Entry      string // lookups[0] "settings", as errors show it
	ID         source.String
	Unusable   bool // the id is invalid for a value
	APIVersion source.String
	Kind       source.String
	Namespace  *source.Node // text that may contain ${...}; nil: the primary's own
	Name       *source.Node // text that may contain ${...}, or nil
	Names      *source.Node // data that gives a list of texts, or nil
	Selector   *source.Node // data that gives a metav1.LabelSelector, or nil
}

// A Child is one entry of children or finalize.
type Child struct {
	Pos       source.Pos
	Entry     string // children[0] "web", as errors show it
	ID        source.String
	Unusable  bool // the id is invalid for a value
	When      *source.Expr
	After     []source.String
	ForEach   []*Iterator
	Replicas  *source.Expr // nil: a single object, or one for each element
	ReadyWhen *source.Expr
	FailWhen  *source.Expr
	IfExists  source.String // "", "fail", "adopt", "share" or "extend"
	OnChange  source.String // "", "apply", "replace", "keep" or "once"
	OnDelete  source.String // "", "delete" or "orphan"
	Order     source.String // "", "parallel" or "sequential"

	MaxUnavailable *source.Expr
	MaxObjects     int64 // 0: the default
	IgnoreFields   []*FieldPath
	Generate       []*Generated
	Timeout        source.Duration // of an entry of finalize
	Template       *source.Node    // a map whose apiVersion and kind are literal strings

	changes bool // onChange is written, perhaps with a mistake
}

// An Iterator is one entry of forEach.
type Iterator struct {
	Pos      source.Pos
	Entry    string // forEach[0].in or forEach.worker, as errors show its list
	Name     source.String
	Index    source.String // Value is "" if there is none
	In       *source.Expr
	Unusable bool // the name or index is invalid for a value
}

// Generated is one entry of generate.
type Generated struct {
	Key  source.String // of the Secret's data
	Node *source.Node  // a map: its description
}

// A FieldPath is one entry of ignoreFields. It identifies a field of an object by
// its keys.
type FieldPath struct {
	Pos   source.Pos
	Entry string       // ignoreFields[0], as errors show it
	Text  string       // the path as written
	Keys  []string     // never empty
	When  *source.Expr // nil: always
}

// Allow is the access of a rule beyond the namespace of its primary.
type Allow struct {
	ClusterScoped  []GroupKind
	Namespaces     []source.String // names or glob patterns
	ReadNamespaces []source.String // names or glob patterns
}

// An Account is the ServiceAccount that a rule impersonates when it writes.
type Account struct {
	Pos       source.Pos
	Namespace string // "": that of the primary
	Name      string // "": no account
}

// A GroupKind names a kind without its version.
type GroupKind struct {
	schema.GroupKind
	Pos source.Pos
}

// A Condition is one entry of conditions.
type Condition struct {
	Pos     source.Pos
	Entry   string // conditions[0] "Available", as errors show it
	ForEach []*Iterator
	Type    *source.Node // literal text, or with ForEach text that may contain ${...}; nil after an error
	When    *source.Expr
	Reason  *source.Node // text that may contain ${...}, or nil
	Message *source.Node // text that may contain ${...}, or nil
	Event   *source.Node // an event type, or text that may contain ${...}, or nil
}
