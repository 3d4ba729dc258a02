// Package plan has what an engine follows: the active versions of the rules, the watches that they
// need, the state of rollouts, which rules another installation forbids, and the counts of all
// that.
package plan
