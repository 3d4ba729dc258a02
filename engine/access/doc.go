// Package access gives the parts of a reconciliation access to the cluster: the options and clients of
// the engine, the subject (one primary, with its rendering), a view of what exists, and the memory
// of our own writes.
package access
