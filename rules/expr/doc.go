// Package expr is the expression language of rules: CEL with Kubernetes' functions
// and with values that may not exist yet.
//
// # Waiting is not failing
//
// Rules read live objects: children, and the status of the primary. These objects
// and their fields appear one after the other. An expression that reads a field
// before it exists must neither fail nor invent a value. It gives CEL's unknown
// value with the path of the missing field: deployment.status.availableReplicas.
//
//   - Functions, operators, and map and list literals with an unknown argument are
//     unknown. With an error as well, they are an error.
//   - &&, || and ?: give a value if they can decide without the unknown.
//   - deployment.?status is none, and has(deployment.status) is false: they ask
//     whether the field exists.
//   - A list with an unknown element is unknown as a whole, and so are .? and has()
//     on it: the unknown element may have the field. The list of a child's objects is
//     unknown until all of them exist. existing(pods) is the list of those that do.
//   - A missing field of self, outside its status, is an error: no controller will set it.
//
// # How
//
// CEL's own attribute patterns do not fit: with them .? and has() are unknown too,
// one unknown element makes a list unknown, and values that pass through a let are
// lost. Wrapping the values does not work either, because CEL looks for plain maps
// in many functions. So this package wraps the steps (.field, [key], .?field).
//
// At load time, a walk over the expression (analyze.go) finds for every value the
// paths from which it may come: through variables, fields, list elements,
// conditionals, comprehensions, cel.bind, lets, and functions that return their
// arguments. It thereby knows for each step whether it reads a live object, and at
// which path. When CEL plans the program, a decorator (unknown.go) wraps each of
// these steps around the qualifier that CEL made for it:
//
//	plain   object unknown → the unknown of the step, with the longer path
//	        field exists   → its value
//	        field missing  → the unknown of the step
//	.?      object unknown → none
//	        otherwise      → as in CEL
//	has()   object unknown → false
//	        otherwise      → as in CEL
//
// A missing variable has an unknown value. Unknowns are allocated at load time, so
// that waiting allocates nothing. Other steps are wrapped as well, to get the position
// of errors right: CEL reports the end of a chain.
//
// # Which paths a value depends on
//
// The same walk finds the paths that each value depends on (shape.go): where it comes
// from, what it is computed from, and which conditions decide about it. Names of
// objects must not depend on a field that changes with every write, such as the
// resourceVersion, not even through a let and a hash. Testing whether a value exists
// and counting its elements do not read all of it.
//
// # Definitions
//
// A call of a function of define stands for the text of the function (inline.go): its body
// with the arguments in place of the parameters. The expression is checked twice, as it is
// written and with the bodies. So the first check compares arguments with parameters, and
// all walks see only what runs. A variable that holds an argument would not do: CEL
// changes an empty list or map in such a variable.
//
// # Determinism and limits
//
// No function reads a random number, and loops over maps run in the order of the keys
// (order.go). The functions of time ask a Clock whether a moment has come, and it
// remembers when to ask again (clock.go). Calls that may take long or make large values are measured
// before they run (limits.go). Expressions with loops share a budget. It counts work
// and not time, and so ends at the same point on every machine. Error messages never
// show values, which may be secrets.
package expr
