// Package projection describes which fields of an object are kept. It knows no rules and
// no cluster.
//
// A Projection is a tree. It keeps the names of the fields that it mentions, so that the
// presence of a field can always be tested. Of a value it keeps all, or some fields, or
// something of every element. A value that is neither a map nor a list is always kept, and
// so are null and the fact that a value is a map or a list.
//
// A Builder collects what is read, in any order. Builders only grow, so a reader may hold
// one for a field while others add to it.
package projection
