// Package outcome says what became of an object, a rule or a primary: its state, the reason and
// message of its condition, and when to look again. It turns what the API server answers into
// that. It is pure.
package outcome
