// Package rendered says how far a resource is, and each of its objects, in a State: status,
// tree, graph and why print it. The state of a resource is what reconcel has reported. That of an
// object follows from what the rules render and what is in the cluster. The package only reads:
// the permissions get and list are enough.
//
// It makes no decision about writes, as the engine does for diff. An object that does not
// exist is missing, whether or not the API server would accept it.
package rendered
