// Package source reads YAML files in which every character knows its position.
// A Shape lists the keys of a map: files are read by it, and the JSON Schema that
// editors use is made from it. Every error names a position and shows the line.
//
// A Value is what a file holds at one position. Its methods read it as a literal,
// as an expression, as data or as a map of a shape, and record an error if it is
// something else. The reader goes on after an error, to report all of them at
// once.
//
// # Two kinds of text
//
// A value that can only be an expression is bare CEL. A value that holds data is
// YAML in which ${CEL} stands for values and $${ for a literal "${". CEL's own
// tokens decide where ${...} ends, so braces in strings and in map literals do
// no harm.
//
// # Which YAML
//
// YAML 1.2 as go.yaml.in/yaml/v3 reads it, made stricter: keys are unique, tags
// are refused, and anchors, aliases and merge keys work within a bound. Dates
// stay strings. Yes, no, on and off are strings too, as in YAML 1.2; kubectl
// follows YAML 1.1 and reads them as booleans, so write true or false. 0644 and
// 0o644 are both octal, as kubectl reads them. Infinity, NaN and integers beyond
// 64 bits have no place in Kubernetes' JSON and are refused. A UTF-8 byte order
// mark and CRLF line ends are accepted.
package source
