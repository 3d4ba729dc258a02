// Package syntax is the grammar of rules files. It parses YAML to a File in which
// everything has its position, or returns every error in the files.
//
// It checks everything that needs neither a CEL compiler nor a cluster: keys,
// shapes, names, and where expressions begin and end. Package rules compiles the
// expressions.
//
// # Definitions
//
// define, beside rules, names values and functions that all rules of the document share. The
// key of a function has its parameters: labels(app string, tier string). So its value is
// written like any other: a string is CEL, a map or list is data. Definitions belong to
// their document: editors and people find there what a name means, and files that are put
// together mean the same.
//
// # Parts of a rule
//
// A rule has a name, and selects its primary objects with for. Its expressions read
// let (named values) and lookups (other objects). validate, children, patch, status
// and conditions describe the result for an object. finalize, teardown and
// requeueAfter control when something happens, and onRuleRemoval what happens when
// the rule is removed. allow grants access beyond the namespace of the primary, and
// serviceAccountName is the ServiceAccount that reconcel impersonates.
//
// A lookup returns one object, by name, or a list, by selector. A child is one
// object. With forEach, it is one object for each element of a list. With replicas,
// it is a number of equal objects, whose names begin with metadata.generateName.
// The objects of finalize are created once, when the primary is deleted, and have a
// timeout.
//
// The names of let, lookups, children and finalize are names of values in
// expressions. So they are CEL identifiers, and each is unique within a rule. The
// names in forEach are visible only to their own child or condition, so others may
// use the same names.
//
// Durations are written as in Go, like 90s or 1h30m. The path of a field in
// ignoreFields is written spec.replicas or metadata.annotations["example.com/x"].
// It leads through maps that the template contains literally, never into lists.
//
// when, expression, readyWhen, failWhen, replicas, maxUnavailable, in and the
// strings of let and define are bare CEL. template, patch, status, reason, message, the name,
// namespace and selector of a lookup, the type of a condition with forEach, and the
// maps and lists of let and define are data.
package syntax
