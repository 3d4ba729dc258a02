// Package expr is the expression language of rules: CEL with Kubernetes'
// functions, in which things may be missing because they are not there yet.
//
// # Waiting is not failing
//
// Rules read live objects: children, and the status of the primary. Those do
// not exist from the start, and their fields appear one after the other. An
// expression that reads what is not there yet must neither fail nor invent a
// value, so it gives CEL's unknown value, together with the trail of what is
// missing: deployment.status.availableReplicas. Then:
//
//   - Functions, operators, and map and list literals over an unknown are
//     unknown. An error beside an unknown is an error.
//   - &&, || and ?: decide without it where they can.
//   - deployment.?status is none, and has(deployment.status) is false: they ask
//     whether something is there, and that has an answer.
//   - A list literal or computed list with an unknown in it is unknown as a
//     whole, and so are .? and has() on it. What they look for may well be
//     there. The same goes for the list of a child's objects as long as one of
//     them is missing; existing(pods) has those that exist.
//   - A missing field of self, outside its status, is an error: nobody will
//     ever put it there.
//
// # How
//
// CEL's own means for this, attribute patterns, do not fit: with them .? and
// has() are unknown too, one unknown element makes a list unknown, and a value
// that went through a let is not recognised. Wrapping the values fails on the
// many places that look for plain maps. What fits is wrapping the steps.
//
// At load, a walk over the expression (analyze.go) follows where each value in
// it may come from: variables, their fields, elements of lists, through
// conditionals, comprehensions, cel.bind, lets and the functions that pass
// values on. So it is known of every step (.field, [key], .?field) whether it
// is taken from a place in a live object, and what that place is called. When
// CEL plans the program, a decorator (unknown.go) puts each of these steps
// around the qualifier that CEL made for it:
//
//	plain   object unknown → the step's own unknown, whose trail is longer
//	        field there    → its value
//	        field missing  → the step's own unknown
//	.?      object unknown → none
//	        otherwise      → as CEL does
//	has()   object unknown → false
//	        otherwise      → as CEL does
//
// A missing variable is a variable whose value is an unknown. The unknowns are
// made at load, so that waiting costs nothing either. Steps that are not live
// are wrapped as well, for the sake of errors: CEL puts the place of an error
// at the end of a chain, the step knows better.
//
// # What a value was made from
//
// The same walk follows what has a say in each value (reads.go): what it is,
// what it was computed from, and what decided about it. Names of objects must
// not be built from what changes with every write, a resourceVersion for
// instance, not even through a let and a hash. To look whether something is
// there, or to count it, is not to read all that is in it.
//
// # Determinism and limits
//
// There is no clock and no randomness among the functions, and loops over maps
// run in the order of the keys (order.go). Functions whose result may be much
// larger than their arguments are bounded before they run (limits.go);
// expressions with loops share a budget, which counts work and not time, so
// that it ends on every machine at the same point. Messages of errors never
// show values, which may be secrets.
package expr
