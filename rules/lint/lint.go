package lint

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Lint returns what the checks find, in no order. Each finding has the name of its
// check. Complaints are the errors of loading the same rules; Lint says nothing at
// their positions.
func Lint(file *syntax.File, set *schema.Set, complaints source.Errors) []*source.Error {
	l := &linter{set: set, versions: map[runtimeschema.GroupKind][]*schema.Kind{}, broken: map[source.Pos]bool{},
		said: map[finding]bool{}}
	for _, e := range complaints {
		l.broken[e.Pos] = true
	}
	for _, src := range file.Rules {
		l.rules = append(l.rules, l.rule(src))
	}
	for _, r := range l.rules {
		r.lint()
	}
	for _, defined := range file.Definitions {
		l.unusedDefinitions(defined, complaints)
	}
	return l.found
}

type linter struct {
	source.Suggester
	set      *schema.Set
	versions map[runtimeschema.GroupKind][]*schema.Kind // of the kinds that were asked for
	rules    []*rule
	broken   map[source.Pos]bool
	said     map[finding]bool
	found    []*source.Error
	values   int // the number of values visited
}

// versionsOf returns the known versions of a kind. Set.Versions visits all kinds.
func (l *linter) versionsOf(gk runtimeschema.GroupKind) []*schema.Kind {
	if _, asked := l.versions[gk]; !asked {
		l.versions[gk] = l.set.Versions(gk)
	}
	return l.versions[gk]
}

// A finding identifies what was found.
type finding struct {
	pos     source.Pos
	message string
}

// A rule is a rule with the names that its expressions may read.
type rule struct {
	*linter
	src      *syntax.Rule
	lets     map[string]*syntax.Let
	children []*child // of children and finalize
	byID     map[string]*syntax.Child
	objects  map[string]bool // the ids of lookups and children
	named    map[objectName][]*child
	lookups  map[objectName]bool   // those that name an object; of the group, only the kind is compared
	pods     func() ([]*pod, bool) // computed once
	keys     map[string]string     // of operands
	specLets map[string]bool       // the lets that read the spec of the primary
}

func (l *linter) rule(src *syntax.Rule) *rule {
	r := &rule{
		linter: l, src: src, lets: map[string]*syntax.Let{}, byID: map[string]*syntax.Child{},
		named:   map[objectName][]*child{},
		lookups: map[objectName]bool{}, objects: map[string]bool{}, keys: map[string]string{}, specLets: map[string]bool{},
	}
	r.pods = sync.OnceValues(r.findPods)
	for _, c := range src.Children {
		r.byID[c.ID.Value] = c
	}
	for _, let := range src.Let {
		if !let.Unusable {
			r.lets[let.Name.Value] = let
		}
	}
	for i, entries := range [][]*syntax.Child{src.Children, src.Finalize} {
		for _, entry := range entries {
			c := r.child(entry, i == 1)
			r.objects[entry.ID.Value] = true
			r.children = append(r.children, c)
			r.named[c.object()] = append(r.named[c.object()], c)
		}
	}
	for _, l := range src.Lookups {
		r.objects[l.ID.Value] = true
		if l.Name != nil {
			r.lookups[objectName{core(l.Kind.Value), r.value(l.Name, "name").key()}] = true
		}
	}
	return r
}

// lint runs all checks of a rule.
func (r *rule) lint() {
	r.writtenValues()
	r.sameObjects()
	r.namespaces()
	r.zeros()
	for _, c := range r.children {
		c.literalName()
		c.unawaitedNamespace()
		c.changesImmutable()
		c.replacesData()
		c.apiRules()
		c.valueForms()
		c.selectorLabels()
		c.selectsPods()
		c.podNames()
		c.targetPorts()
		c.misspelt()
		c.keyReferences()
		c.backendPorts()
		c.scales()
		c.scalesRendered()
	}
}

// find adds a finding. One that several paths find is added once.
func (r *rule) find(check string, pos source.Pos, format string, args ...any) *source.Error {
	e := source.NewError(pos, r.src.Name.Value, fmt.Sprintf(format, args...), "")
	e.Check = check
	key := finding{pos, e.Message}
	if len(r.src.Others) > 0 {
		key.message = check // Each kind of the rule finds it, in words of its own.
	}
	if pos.Line > 0 && !r.said[key] && !r.broken[pos] {
		r.said[key] = true
		r.found = append(r.found, e)
	}
	return e
}

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
	SelectorLabels     = "selector-labels"
	SelectorNoPod      = "selector-no-pod"
	VolumeMount        = "volume-mount"
	ProbePort          = "probe-port"
	TargetPort         = "target-port"
	SiblingName        = "sibling-name"
	MissingKey         = "missing-key"
	BackendPort        = "backend-port"
	ScaleTarget        = "scale-target"
	ScaledReplicas     = "scaled-replicas"
	APIVersion         = "api-version"
	EmptyValue         = "empty-value"
	SameObject         = "same-object"
	LiteralName        = "literal-name"
	StatusLoop         = "status-loop"
	ZeroStatus         = "zero-status"
	OptionalRequired   = "optional-required"
	ConstantError      = "constant-error"
	LookupNamespace    = "lookup-namespace"
	EnumValue          = "enum-value"
	BlockText          = "block-text"
	NumberText         = "number-text"
	APIRule            = "api-rule"
	ValueForm          = "value-form"
	ImmutableField     = "immutable-field"
	ReplacedData       = "replaced-data"
	ForeignNamespace   = "foreign-namespace"
	UnawaitedNamespace = "unawaited-namespace"
	AbsentField        = "absent-field"
	ExcludedReader     = "excluded-reader"
	LiteralText        = "literal-text"
	ForeignSyntax      = "foreign-syntax"
	UnknownKind        = "unknown-kind"
	NoConditions       = "no-conditions"
	UnwatchedRule      = "unwatched-rule"
	UnusedDefinition   = "unused-definition"
	UnknownCheck       = "unknown-check"
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
	{UnawaitedNamespace, false, "an object in a namespace that another child creates, without waiting for it"},
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

// ignoring matches the comment that silences checks. The names are separated by commas
// or blanks; what follows a second # is a remark.
var ignoring = regexp.MustCompile(`(^|\s)# ?` + ignore + `\s+([^#\r\n]*)`)

const ignore = "reconcel:ignore"

// A Silence says what comments and settings silence.
type Silence struct {
	off   []string
	lines map[source.Pos][]string // the names for a line, by its position in column 0
	// Unknown are findings about unknown names, in comments and in the settings.
	Unknown []*source.Error
}

// NewSilence reads the comments of files. Off are the names of checks that are turned
// off everywhere.
//
// A comment counts for its own line. One that is alone on its line counts for the next
// line as well.
func NewSilence(files []source.File, off []string) *Silence {
	s := &Silence{off: off, lines: map[source.Pos][]string{}}
	s.know(source.Pos{File: "--ignore-check"}, off)
	for _, file := range files {
		if !bytes.Contains(file.Data, []byte(ignore)) {
			continue // Most files have no such comment.
		}
		for i, line := range strings.Split(string(file.Data), "\n") {
			m := ignoring.FindStringSubmatchIndex(line)
			if m == nil {
				continue
			}
			at := source.Pos{File: file.Name, Line: i + 1}
			silenced := strings.FieldsFunc(line[m[4]:m[5]], func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
			s.lines[at] = append(s.lines[at], silenced...)
			s.know(source.Pos{File: file.Name, Line: at.Line, Column: len([]rune(line[:m[4]])) + 1}, silenced)
			if strings.TrimSpace(line[:m[0]]) == "" {
				at.Line++
				s.lines[at] = append(s.lines[at], silenced...)
			}
		}
	}
	return s
}

// know adds a finding for each name that no check has.
func (s *Silence) know(at source.Pos, silenced []string) {
	for _, name := range silenced {
		if _, known := Named(name); !known {
			e := source.NewError(at, "", fmt.Sprintf("there is no check %q to ignore", name), source.Suggest(name, names()))
			e.Check = UnknownCheck
			s.Unknown = append(s.Unknown, e)
		}
	}
}

// Covers reports whether a finding is silenced. A finding without a name never is.
func (s *Silence) Covers(e *source.Error) bool {
	if e.Check == "" {
		return false
	}
	at := source.Pos{File: e.Pos.File, Line: e.Pos.Line}
	return slices.Contains(s.off, e.Check) || slices.Contains(s.lines[at], e.Check)
}
