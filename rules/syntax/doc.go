// Package syntax reads rules files: YAML in, a File out in which everything
// knows its place, or every complaint there is about them.
//
// It checks what can be said without a CEL compiler or a cluster: keys,
// shapes, names, and where expressions begin and end. Compiling them is the
// work of package rules.
//
// # Two kinds of text
//
// A field that can only be an expression (when, expression, readyWhen, the
// strings of let) is bare CEL. A field that holds data (template, status,
// reason, message, the maps and lists of let) is YAML in which ${CEL} stands
// for a value and $${ for a literal "${". Where ${...} ends is decided by
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
