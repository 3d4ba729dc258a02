// Package decide has the decisions about one object that need no cluster: which step follows, why
// a step waits, whether another writer undoes repairs again and again, in which order objects are
// created and deleted. It is pure.
package decide
