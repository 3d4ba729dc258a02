// Package discover finds out which kinds of objects a cluster serves, and how.
//
// It remembers nothing about a kind: every call of Kinds asks the API server
// again. A Waiter tells the callers that wait for a missing kind when it is
// worth to ask.
package discover
