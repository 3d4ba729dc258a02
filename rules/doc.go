// Package rules is the language of rules. It compiles rules files to an immutable
// Program, which renders the desired objects for one primary.
//
//	program, err := rules.Load(files) // err holds all mistakes
//	program.Primaries()[0].Render(input, &rendering)
//
// The package is pure. It has no network and no randomness, and the time is part of
// its input: the same input gives the same bytes. The engine depends on this, since it compares a hash
// of the bytes to know whether anything has changed. (The timeout, for machines
// that are overloaded, gives an error and no other bytes.) Package expr defines
// what expressions mean, and above all how they treat values that do not exist
// yet.
//
// # Files
//
// compile_*.go compile what render_*.go renders, and have the same endings. The
// result types are in rendering.go and desired.go.
//
// # Loading
//
// Load parses the files (package syntax), compiles the definitions that rules
// share (package define), then compiles each rule. It compiles the
// names in scope first, then lets and lookups in the order in which they read each
// other, then the children, and then the rest. A child depends on the children that
// its expressions read, directly or through a let, and on those named in after. What
// previous() lists is not read in this sense: it does not depend on the rule.
// Load sorts the children by these dependencies once. It collects all errors.
//
// The name of a child must contain every iterator of forEach, or two elements would
// be one object. It must not contain values that change by themselves, such as a
// resourceVersion, or each change would create a new object.
//
// # Rendering
//
// Templates are lists of operations that append JSON (compile_template.go). If
// nothing has changed, a rendering writes into a buffer that exists already, and
// allocates little more than the values of its expressions. An object is written
// with metadata last and annotations last in it, and left open there. The
// annotation with the hash of these bytes, and the uid and resourceVersion that
// guard a request, are appended without writing the bytes again.
//
// For each child, the rendering first decides which objects it has: one, one for
// each element, or a number of replicas. It does so when something first reads the
// child (render_objects.go), so an expression can read a child that comes later in
// the file.
//
// A rendering distinguishes five cases:
//
//   - A child that should exist is Rendered. Its Waits contain the closed gates.
//   - A child whose when is false is Excluded. So is a child that reads it without a
//     question mark. A name in after does not count as reading. A collection that is
//     Excluded is an empty list, and excludes nothing (render_collection.go).
//   - A child that reads a value that does not exist yet is Waiting.
//   - A child with an expression that fails is Failed. So is a child whose when
//     fails: an error never counts as absence.
//   - A rule whose for.when fails, or whose check is false, has an Err as a whole.
//
// The same is true for all objects of a child together: if its when or its list
// waits or fails, the existing objects stay.
//
// Only Excluded allows a deletion. A check (validate) that waits passes for now,
// because the rule itself may be about to create the object that it waits for. A
// for.when that waits is an error, because no answer to it is safe.
//
// # Where a rule may write
//
// A child is in the namespace of its primary unless the rule allows more
// (render_objects.go). This is checked after rendering, when the name and namespace
// are known, so no expression can get around it. An owner reference cannot cross
// namespaces: such a child names its owner in an annotation. So does a child that
// must outlive its primary for a while.
//
// # Deletion of a primary
//
// A primary that is being deleted is rendered like any other, so that the entries
// of finalize can read the children. The same is true for a primary that no longer
// matches but carries the rule's finalizer. RuleResult.Teardown reports that only
// these entries are applied. In all other renderings, they are Excluded.
//
// # Status
//
// Status is written field by field. A field that waits or fails is omitted, and
// StatusErr reports failures. A list is omitted as a whole. A condition that waits,
// or reads an excluded child, is Unknown and names the reason. A top-level field of
// status belongs to one rule.
//
// # Readiness
//
// readyWhen decides whether a child is ready. Without it, package kstatus decides.
// Both count only once the live object carries this rendering, because the status
// belongs to the rendering that the object carries.
package rules
