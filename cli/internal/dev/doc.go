// Package dev serves a cluster in memory to one user, on loopback: the API of sim/server, a clock that can be moved,
// and objects of files that are applied whenever the files change.
package dev
