// Package rules is the language: rules files in, an immutable Program out, and
// out of that what the rules want of the world for one object.
//
//	program, err := rules.Load(sources) // everything that is wrong, at once
//	program.Primaries()[0].Render(input, &rendering)
//
// The package is pure. It has no clock, no network and no randomness: the same
// input gives the same bytes, on which the whole engine rests, since it knows
// by a hash of them whether anything is to be done. (A timeout, for machines that
// are overloaded, gives no other bytes but an error.) What the expressions mean,
// and above all what they do about things that are not there yet, is in
// package expr.
//
// # Loading
//
// Load parses (package syntax), then compiles rule by rule: the names in
// scope, lets and lookups in the order in which they mention each other, the
// children, and what remains. Children depend on the children that their
// expressions read, directly or through a let, and on those named in after;
// they are sorted by that once, at load. All complaints are collected.
//
// What makes a child's name is looked at closely: every iterator of forEach
// must be in it, or two elements would be one object, and nothing that changes
// by itself, such as a resourceVersion, or there would be a new object each time.
//
// # Rendering
//
// Templates become lists of operations that append JSON (template.go). For an
// object that changes nothing, a rendering writes into a buffer that it has
// already, and allocates little more than the values of its expressions. An
// object is written with metadata last and annotations last in it, and left
// open there: the annotation with the hash of the bytes so far, and the uid and
// resourceVersion that guard a request, are appended without touching them.
//
// Of each child the rendering says first which objects there should be: one, one
// for each element (foreach.go), or so many (replicas.go). This is settled when
// something first reads the child (prepare.go), so that an expression can read a
// child that comes later in the file.
//
// A rendering tells five things apart that other tools mix:
//
//   - A child that should exist is Rendered. Gates that are closed stand in
//     its Waits.
//   - A child whose when is false is Excluded, and so is what reads it without
//     a question mark. Coming after it (after) is not reading it. A list of
//     objects that is Excluded is empty, and excludes nothing (collection.go).
//   - A child that reads what is not there yet is Waiting.
//   - A child with an expression that fails is Failed. This, and nothing that
//     resembles absence, is also what an undecidable or failing when makes.
//   - A rule that cannot tell whether it is for an object, or whether the
//     object is valid, has an Err as a whole.
//
// The same holds for all objects of a child together: if it cannot be told which
// there should be, because its when or its list waits or fails, the ones that
// exist stay.
//
// Only Excluded means that something may be removed. A check (validate) that
// waits for something counts as passed for now: what it waits for may be what
// the rule is about to make. A for.when that waits is an error, because no
// answer to it is safe.
//
// # Where a rule may write
//
// A child is in the namespace of its primary unless the rule allows more
// (identity.go). This is checked after rendering, when the name and namespace
// are known, so that it does not matter what an expression was made to say.
// An owner reference cannot reach across namespaces; such a child names its
// owner in an annotation, and so does one that must outlive the deletion of its
// primary for a while.
//
// # The end
//
// A primary that is being deleted, or that has left the rule while it carries
// the rule's finalizer, is rendered like any other, so that what the entries of
// finalize read is there; RuleResult.Leaving says that only those are to be
// applied. In the life of a primary they are Excluded.
//
// # Status
//
// Status is written field by field: one that waits is left out, and one that
// fails too, which StatusErr reports. A list is left out as a whole. A
// condition that waits, or reads an excluded child, is Unknown, and says which.
// A top-level field of status belongs to one rule.
//
// # Readiness
//
// A child is judged by its readyWhen, or else by the rules in kstatus.go, but
// only once the live object carries the very rendering at hand: the status of
// an older one says nothing.
package rules
