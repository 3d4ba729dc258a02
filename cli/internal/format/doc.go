// Package format lays out rules files and test files in one way, for fmt.
//
// The layout moves lines: entries of a map come in the order of the language, maps are
// indented by two blanks, and lists are not indented. A comment stays with the entry
// below it, or at the end of the map or list that it is indented like. Everything else is
// kept as it is written, character by character: the text of a value, its quotes, and
// comments. A word that other readers of YAML take for a boolean or a date gets quotes.
//
// What the layout does not know, such as an explicit key, is only moved as a whole. A map
// in a document with anchors keeps its order, because an anchor must come before its
// aliases.
package format
