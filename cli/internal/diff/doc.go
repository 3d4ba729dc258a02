// Package diff compares rules with a cluster: it shows the next step of run for each
// primary. It chooses the primaries, and lists the objects that their rules read.
package diff
