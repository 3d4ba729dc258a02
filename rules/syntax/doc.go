// Package syntax is the grammar of rules files: YAML in, a File out in which
// everything knows its position, or every error that the files have.
//
// It checks what needs neither a CEL compiler nor a cluster: keys, shapes, names,
// and where expressions begin and end. Package rules compiles the expressions.
//
// # What a rule says
//
// A rule has a name, and selects its primary objects with for. Its expressions
// read let (named values) and lookups (other objects). What it does for an object
// stands in validate, children, patch, status and conditions. finalize, teardown
// and requeueAfter say when it does something; onRuleRemoval says what happens
// when the rule is removed. allow grants access beyond the namespace of the
// primary, and serviceAccountName is the ServiceAccount that writes.
//
// A lookup gives one object, by name, or a list, by selector. A child is one
// object. With forEach it is one for each element of a list; with replicas, any
// number of the same kind, whose names begin with metadata.generateName. The
// objects of finalize are created once, when the primary is deleted, and have a
// timeout.
//
// The names of let, lookups, children and finalize are those of values in
// expressions, so they are CEL identifiers, and each is unique within a rule.
// One child alone sees the names in its forEach; others may use them too.
//
// Durations are Go's, like 90s or 1h30m. The path of a field, in ignoreFields,
// is written spec.replicas or metadata.annotations["example.com/x"]. It leads
// through maps that the template writes out, never into lists.
//
// when, expression, readyWhen, failWhen, replicas, maxUnavailable, in and the
// strings of let are bare CEL. template, patch, status, reason, message, the name,
// namespace and selector of a lookup, and the maps and lists of let are data.
package syntax
