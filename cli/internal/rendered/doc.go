// Package rendered says how far the objects of one resource are, compared with what its
// rules render. It renders from what a cluster has, and only reads: the permissions get and
// list are enough.
//
// It makes no decision about writes, as the engine does for diff. An object that does not
// exist is missing, whether or not the API server would accept it.
package rendered
