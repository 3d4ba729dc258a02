// Package docs has the pages that reconcel explain shows.
package docs

import _ "embed" // for the pages

// Functions is the page about the functions of expressions.
//
//go:embed reference/functions.md
var Functions string

// Checks is the page about the named checks of reconcel validate.
//
//go:embed checks.md
var Checks string
