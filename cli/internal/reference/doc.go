// Package reference writes pages for the users of custom resources: people who create a
// resource, and need not know the rules behind it.
//
//	pages, err := reference.Pages(reference.Source{Loaded: loaded, Kinds: kinds, Definitions: crds}, primaries)
//	text, err := reference.Write(pages)
//
// A Page is plain data (page.go), and page.tmpl says how it looks. Whatever comes from a CRD or
// rules is a Text or a Code, which print themselves as Markdown that shows them as they are
// (markdown.go).
//
// What a page says of fields comes from the CRD (template.go, fields.go, example.go), and the
// rest from the compiled rules and their syntax (objects.go).
//
// Names of objects show fields of the resource in angle brackets, and a few conditions are put
// into words (words.go). All other expressions are shown as they are, and the page says what
// the names in them stand for (names.go).
package reference
