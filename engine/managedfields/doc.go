// Package managedfields reads which manager owns which fields of an object, and
// transfers ownership. It is the only code of reconcel that knows the format of
// fieldsV1. It is pure: no client and no cluster.
//
// An Entry is the ownership of one manager as the API server wrote it. A cache
// keeps one for each object, and drift detection compares two of them by a
// pointer. An Entry is not decoded while it stays the same.
//
// A Set is a decoded Entry, a fieldpath.Set of structured-merge-diff. It needs no
// schema: its path elements distinguish lists of items with an identity from atomic
// lists. Decoding takes tens of microseconds, as long as decoding the JSON into
// maps. It is done for the first state of each child that a process sees, and after
// a change.
package managedfields
