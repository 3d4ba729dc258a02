// Package crossplane turns Compositions of Crossplane with patch-and-transform into rules,
// and CompositeResourceDefinitions into CRDs.
//
// A composed resource becomes a child. Its base becomes the template, in which patches put
// expressions (patch.go): a patch from the composite resource is an expression that reads
// self, and one to the composite resource becomes status or patch. Transforms become
// operators and functions (transform.go).
//
// A patch whose source is absent leaves the value of the base, as in Crossplane. Where the
// schema of the composite resource says that the source is always there, the expression
// reads it with a plain dot.
//
// Values are texts of expressions while they are put together. Each is parsed when it is
// complete, so a mistake here shows in the report and never in the rules.
package crossplane
