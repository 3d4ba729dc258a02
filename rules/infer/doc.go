// Package infer derives the schemas of custom kinds from the rules that use them.
//
//	found := infer.Kinds(file, set)
//
// # Slots
//
// Every value in the rules has a slot: what is known about its type (slot.go). An expression
// makes one slot of two: both sides of a comparison, a value and the field of the template
// that holds it, an argument and the parameter (expression.go, call.go). The slots of
// children have the schemas of their kinds, so types flow from them to the fields of the
// primary. A field of the primary belongs to the slot of its parent (slot.go), which also
// remembers how it is read: with a guard, with a default, compared with a literal.
//
// What cannot be decided at once is a question (question.go). Questions are asked again until
// no answer changes anything, and then with likelier answers: a list rather than a map, both
// sides of + of one type.
//
// # Schemas
//
// The slots of the spec and status become schemas (emit.go). A field that is read without a
// guard is required, unless it has a default. The type checker decides where that is not
// enough: a field that may be absent where it warns becomes required (refine.go). A field of
// which nothing is known keeps every value, with a comment that says where it is read.
package infer
