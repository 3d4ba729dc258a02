// Package check finds mistakes in rules by the schemas of the kinds that the rules
// mention.
//
//	found := check.Check(file, set, complaints)
//
// Every expression has a type, and so has every value in a template, patch or
// status. A mistake that no object can satisfy is an error: an unknown field, a
// value of the wrong type, a missing required field. A mistake that depends on the
// object is a warning: reading a field of the primary that may be absent. A kind
// without a schema is not checked, and a note says so.
//
// Rules that do not load are checked as far as they can be parsed, so that users
// see all mistakes at once (reporter.go). A damaged expression has the type dyn.
// Check reports nothing that may only be a consequence of a loading error.
//
// # Parts
//
// A rule is checked by parts that share a subject, which is the rule with what is known of it
// so far (rule.go). Each part uses only those before it. Names are declared first
// (declarations.go). A body then checks each section of the rule: a walker compares data with
// schemas, and a guard evaluates the expressions.
//
// # Types
//
// Types are checked by CEL. Each object schema is a type, shared by all references
// to its definition (types.go). A map of let is a type with the fields that it has
// (data.go). At run time, objects are maps, but CEL's type checker does not accept
// them where a function takes a map. So an expression that fails is checked again,
// with such objects and with map literals declared as dyn (rewrite.go). What
// fails then as well is an error.
//
// A value is compared with the schema of its field (walk.go): a literal by its value
// (scalars.go), an expression by its type (type.go). The parts of an expression are compared one
// by one: both branches of a conditional, the entries of a map literal, the data of
// a let.
//
// # Guards
//
// Selecting an optional field without a default fails for objects that lack it.
// The walk in guards.go knows which fields are present at each position of an
// expression. It learns that from has(), from comparing orValue(), from the when of
// the rule or the child, and from validate. A let is checked where it is used. The
// walk does not warn about what it cannot follow. It does not look at fields of
// other objects and of the status either, because an expression waits for these. Only
// what the template of a child leaves out is waited for in vain (absent.go).
//
// rules/expr follows values, too (shape.go), but for another question. It finds all
// paths from which a value may come, in untyped expressions, whenever rules load. The
// guards need the one path from which it must come, with types and with what the
// conditions before it imply. Both share the nodes of CEL (rules/expr/node.go).
package check
