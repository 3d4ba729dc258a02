// Package race tells tests whether they run with the race detector.
package race

import (
	"runtime/debug"
	"slices"
)

// Enabled reports whether the race detector is on. It makes everything slow, so time and memory
// that a test measures mean nothing.
func Enabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
