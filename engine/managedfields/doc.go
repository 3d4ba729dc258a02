// Package managedfields reads who owns which fields of an object, and moves that
// ownership. It is the only code of reconcel that knows the format of fieldsV1.
// It is pure: no client and no cluster.
//
// An Entry is what one manager owns, as the API server wrote it. A cache keeps
// one for each object, and drift detection compares two of them by a pointer.
// Nothing decodes an Entry as long as it stays the same.
//
// A Set is a decoded Entry, a fieldpath.Set of structured-merge-diff. It needs no
// schema: its path elements tell lists whose items have an identity from lists
// that are one value. Decoding takes tens of microseconds, as long as decoding
// the JSON into maps does. It is done for the first state of each child that a
// process sees, and after a change.
package managedfields
