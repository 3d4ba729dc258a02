// Package report tells what came of a reconciliation: status, conditions, Events and log lines.
package report
