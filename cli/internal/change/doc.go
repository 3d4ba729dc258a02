// Package change says what would change: it turns the writes of reconciliations into changes, and
// the reasons why other writes are missing.
//
// It makes no decisions. The engine reconciles with a client that answers each write and lets none
// take effect (package dryrun). diff and plan reconcile chosen primaries once (engine.Preview), and
// run --dry-run reconciles all of them again and again (Unsent).
package change
