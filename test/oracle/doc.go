// Package oracle judges a run of a controller by a reference: the same operations without
// faults.
//
// A [History] has every version of every object. An observer fills it from watches of its
// own, which never use a proxy. A [Run] is the part of a history that belongs to one test,
// in a form that does not depend on names, UIDs and times. [Run.Violations] compares it
// with the reference:
//
//   - The end state is that of the reference.
//   - Every object was created and deleted as often as in the reference.
//   - There were never more objects of a child at a time than in the reference.
//   - No object had a state that it did not have in the reference.
//
// [Selection.OutOfOrder] checks the order of deletions, and [Untouched] compares the
// objects of others. Writes at rest and the time of recovery need no reference.
package oracle
