// Package diff compares rules with a cluster: it shows the next step of run for each
// primary.
//
// It makes no decisions. It lists the objects that the rules read, and lets the
// engine reconcile each primary once (engine.Preview). The client of the engine
// turns writes into dry runs (cli/internal/dryrun). The writes become changes, and
// so do the reasons why others are missing.
package diff
