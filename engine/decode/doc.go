// Package decode reads JSON from a stream in one pass, and keeps only what a projection
// names. What it skips is checked and not allocated.
//
// It gives the values that the unstructured decoder of k8s.io/apimachinery gives: maps and
// lists of any, strings, booleans, nil, int64 for whole numbers that fit, and float64 for
// all others. Invalid JSON is an error. Unlike apimachinery, it does not notice a number
// that exceeds float64 in a part that it skips.
package decode
