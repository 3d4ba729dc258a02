// Package lint finds mistakes in how the parts of rules fit together: a selector that
// selects nothing, a volume that is not there, a value that the API server rejects
// although its type is right.
//
//	found := lint.Lint(file, set, complaints)
//
// It complements rules/check, which compares each value with the schema of its field.
// Every finding has the name of its check. Checks (lint.go) lists them with their
// severity; docs/checks.md shows a wrong and a right example of each. A comment
// "# reconcel:ignore NAME" silences a check for a line (lint.go).
//
// # Unknown values
//
// A check sees a template with its lets put in (value.go). Whatever an expression gives
// is unknown, and a check says nothing where it depends on an unknown part. Two
// expressions with the same text have the same value (key.go), so a name that a
// template refers to can be found among the children although the name is unknown.
package lint
