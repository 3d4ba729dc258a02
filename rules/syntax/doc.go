// Package syntax reads rules files: YAML in, a File out in which everything
// knows its place, or every complaint there is about them.
//
// It checks what can be said without a CEL compiler or a cluster: keys,
// shapes, names, and where expressions begin and end. Compiling them is the
// work of package rules.
//
// # What a rule says
//
// A rule has a name and says what it is for. It may have let and lookups, which
// are values and other objects that its expressions read; validate, children,
// patch, status and conditions, which are what it does for an object; finalize,
// teardown and requeueAfter, which say when; onRuleRemoval, which is what comes
// after the rule; allow, which is what it may do beyond the namespace of its
// object; and serviceAccountName, which is as whom it does it.
//
// A lookup gives one object, by name, or a list, by selector. A child is one
// object; with forEach it is one for each element of a list, with replicas any
// number of the same kind, whose names begin with metadata.generateName. What
// stands in finalize is made once, when the object goes, and has a timeout.
//
// The names of let, lookups, children and finalize are those of values in
// expressions, so they are CEL identifiers and each stands for one thing in a
// rule. Names in forEach are seen by one child alone; others may use them too.
//
// Durations are Go's, like 90s or 1h30m. The path of a field, in ignoreFields,
// is written spec.replicas or metadata.annotations["example.com/x"]; it leads
// through maps that the template writes out, never into lists.
//
// # Two kinds of text
//
// A field that can only be an expression (when, expression, readyWhen, failWhen,
// replicas, maxUnavailable, in, the strings of let) is bare CEL. A field that
// holds data (template, patch, status, reason, message, a lookup's name,
// namespace and selector, the maps and lists of let) is YAML in which ${CEL}
// stands for a value and $${ for a literal "${". Where ${...} ends is decided by
// CEL's own tokens, so braces in strings and in map literals do no harm.
//
// # Which YAML
//
// YAML 1.2 as go.yaml.in/yaml/v3 reads it, made stricter: keys are unique,
// tags are refused, anchors, aliases and merge keys work within a bound.
// Dates stay strings. Yes, no, on and off are strings too, as YAML 1.2 has
// it; kubectl still follows YAML 1.1 and reads them as booleans, so write
// true or false. 0644 and 0o644 are both octal, as kubectl reads them.
// Infinity, NaN and integers beyond 64 bits have no place in Kubernetes' JSON
// and are refused. A UTF-8 byte order mark and CRLF line ends are accepted.
package syntax
