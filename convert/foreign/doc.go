// Package foreign has what turns the definitions of other projects into rules: reading
// them with positions, changing their expressions, and printing rules and CRDs.
//
// Each project has a package of its own below this one, with a function that reads
// documents and returns a Result. What has no counterpart is in the report of the Result,
// at its position in the input; everything else is converted.
//
// Expressions are parsed without macros (package unchecked), and printed as they were written.
package foreign
