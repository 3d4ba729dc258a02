package lint

import "slices"

// A Check is a named check.
type Check struct {
	Name string // in kebab case, as comments and settings write it
	// Certain: what it finds cannot work, and is an error. Otherwise it is a
	// warning.
	Certain bool
	Finds   string // what it finds, as a noun phrase
}

// The names of the checks.
const (
	SelectorLabels   = "selector-labels"
	SelectorNoPod    = "selector-no-pod"
	VolumeMount      = "volume-mount"
	ProbePort        = "probe-port"
	TargetPort       = "target-port"
	SiblingName      = "sibling-name"
	MissingKey       = "missing-key"
	BackendPort      = "backend-port"
	ScaleTarget      = "scale-target"
	ScaledReplicas   = "scaled-replicas"
	APIVersion       = "api-version"
	EmptyValue       = "empty-value"
	SameObject       = "same-object"
	LiteralName      = "literal-name"
	StatusLoop       = "status-loop"
	ZeroStatus       = "zero-status"
	OptionalRequired = "optional-required"
	ConstantError    = "constant-error"
	LookupNamespace  = "lookup-namespace"
	EnumValue        = "enum-value"
	BlockText        = "block-text"
	NumberText       = "number-text"
	APIRule          = "api-rule"
	ValueForm        = "value-form"
	ImmutableField   = "immutable-field"
	ReplacedData     = "replaced-data"
	ForeignNamespace = "foreign-namespace"
	AbsentField      = "absent-field"
	ExcludedReader   = "excluded-reader"
	LiteralText      = "literal-text"
	ForeignSyntax    = "foreign-syntax"
	UnknownKind      = "unknown-kind"
	NoConditions     = "no-conditions"
	UnwatchedRule    = "unwatched-rule"
	UnusedDefinition = "unused-definition"
	UnknownCheck     = "unknown-check"
)

// Checks are all named checks, in the order of docs/checks.md.
var Checks = []Check{
	{SelectorLabels, true, "a selector of a workload that does not match the labels of its own Pods"},
	{SelectorNoPod, false, "a selector of a Service, PodDisruptionBudget or NetworkPolicy that " +
		"matches no Pod of the rule"},
	{VolumeMount, true, "a mount of a volume that the Pod does not have"},
	{ProbePort, true, "a probe or hook of a named port that the container does not have"},
	{TargetPort, false, "a named target port of a Service that no container of the rule has"},
	{SiblingName, false, "a name that differs by a typing error from the name of a child"},
	{MissingKey, false, "a key that the ConfigMap or Secret of the same rule does not have"},
	{BackendPort, false, "a port of an Ingress backend that the Service of the same rule does not have"},
	{ScaleTarget, true, "an autoscaler of a kind of Kubernetes that does not exist or cannot be scaled"},
	{ScaledReplicas, false, "`spec.replicas` of a child that an autoscaler of the same rule scales"},
	{APIVersion, true, "an API version that Kubernetes no longer serves, or that cannot exist"},
	{EmptyValue, false, "a field without a value, which is left out"},
	{SameObject, true, "two children that are always the same object"},
	{LiteralName, false, "a literal name, which the objects of all resources share"},
	{StatusLoop, false, "a status field, a condition or a child that changes each time it is computed"},
	{ZeroStatus, false, "a condition or computed status that reads a count which Kubernetes leaves out while it is 0"},
	{OptionalRequired, false, "a required field whose value may be absent"},
	{ConstantError, true, "an operation on literals that always fails"},
	{LookupNamespace, false, "a namespace in a lookup of a cluster-scoped kind"},
	{EnumValue, false, "a comparison with a value that the enum of the CRD lacks"},
	{BlockText, false, "an expression in a block text, with a line break after it"},
	{NumberText, false, "a number that loses digits where it becomes part of a text"},
	{APIRule, true, "fields that the API server rejects together, or misses"},
	{ValueForm, true, "a text or number that does not have the form that the API server requires"},
	{ImmutableField, false, "a field that the API server does not let change, and that follows the spec"},
	{ReplacedData, false, "a child that holds data, and is deleted when its rendering changes"},
	{ForeignNamespace, false, "a namespace that `allow` does not include"},
	{AbsentField, false, "a field that may be absent, and is read without a guard"},
	{ExcludedReader, true, "a child without a `when` that reads a child which its `when` may exclude"},
	{LiteralText, false, "a text that looks like an expression"},
	{ForeignSyntax, true, "an expression of another tool in a field that nothing evaluates"},
	{UnknownKind, false, "a version or group of a kind that no schema has"},
	{NoConditions, false, "a custom resource without `status.conditions`, where reconcel reports"},
	{UnwatchedRule, false, "a rule for namespaces that reconcel does not watch"},
	{UnusedDefinition, false, "a value or function in `define` that no rule beside it uses"},
	{UnknownCheck, false, "a comment that names a check that does not exist"},
}

// Named returns the check of a name, and whether there is one.
func Named(name string) (Check, bool) {
	i := slices.IndexFunc(Checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		return Check{}, false
	}
	return Checks[i], true
}

// names returns the names of all checks.
func names() []string {
	out := make([]string, len(Checks))
	for i, c := range Checks {
		out[i] = c.Name
	}
	return out
}
