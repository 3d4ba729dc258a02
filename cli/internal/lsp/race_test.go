//go:build race

package lsp_test

// raceDetector reports whether the race detector makes everything slow.
const raceDetector = true
