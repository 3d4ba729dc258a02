// Package preview runs an engine step by step, without goroutines: for tests, and to tell what
// rules would change.
package preview
