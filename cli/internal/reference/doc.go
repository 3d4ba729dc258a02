// Package reference writes pages for the users of custom resources: people who create a
// resource, and need not know the rules behind it.
//
//	pages, err := reference.Pages(reference.Source{Loaded: loaded, Kinds: kinds, Definitions: crds})
//	text := reference.Markdown(pages)
//
// A Page is sections of blocks: paragraphs, tables, YAML (page.go). Markdown prints them.
//
// What a page says of fields comes from the CRD (definition.go, fields.go, limits.go,
// example.go), and the rest from the compiled rules and their syntax: objects.go,
// lookups.go, deletion.go, conditions.go.
//
// Expressions are put into words where they have one of the usual forms (words.go,
// compare.go), after lets and functions are written out (expand.go). All others are shown
// as they are, with the lets that they read.
package reference
