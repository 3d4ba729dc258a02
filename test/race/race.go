// Package race tells tests whether they run with the race detector.
package race

import (
	"runtime/debug"
	"slices"
	"testing"
)

// Enabled reports whether the race detector is on. It makes everything slow, so time and memory
// that a test measures mean nothing.
func Enabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Skip skips a test that the race detector makes slow. make test runs it without: the Makefile names it or its package.
func Skip(t *testing.T) {
	t.Helper()
	if Enabled() {
		t.Skip("slow with the race detector; make test runs it without")
	}
}
