// Package why explains objects that rules render: where the value of a field comes from,
// and why an object exists or does not.
//
// It decides nothing. The rendering records what its expressions read (rules.Trace), and
// rules.Explanation makes that into origins. In a cluster, diff says what reconcel would
// write next, and managedFields say who wrote what is there.
package why
