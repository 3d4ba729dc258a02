// Package source reads YAML files and keeps the position of every character. A
// Shape lists the keys of a map. It reads files, and generates the JSON Schema that
// editors use. Every error names a position and shows the line.
//
// A Value is the content of a file at one position. Its methods read it as a
// literal, an expression, data, or a map of a shape, and record an error if it is
// something else. Reading continues after an error, so that all errors are reported
// at once.
//
// # Two kinds of text
//
// A value that can only be an expression is bare CEL. A value that contains data is
// YAML in which ${CEL} is an expression and $${ is a literal "${". CEL's own tokens
// decide where ${...} ends, so braces in strings and in map literals are safe.
//
// # Which YAML
//
// YAML 1.2 as go.yaml.in/yaml/v3 reads it, but stricter: keys are unique, tags are
// rejected, and anchors, aliases and merge keys have a size limit. Dates are
// strings. Yes, no, on and off are strings too, as in YAML 1.2. kubectl follows
// YAML 1.1 and reads them as booleans, so write true or false. 0644 and 0o644 are
// both octal, as in kubectl. Infinity, NaN and integers beyond 64 bits do not exist
// in Kubernetes' JSON and are rejected. A UTF-8 byte order mark and CRLF line ends
// are accepted.
package source
