package cli

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// gcPercent is how much the heap may grow before garbage is collected, in percent. Most
	// of the heap are caches, which live long, so that a collection frees little: the default of
	// 100 would double the memory of a process with many objects.
	gcPercent = 75
	// heapShare is the part of the container's memory that the heap may use, in percent. The
	// rest is for what the Go runtime does not count, such as the pages of the binary.
	heapShare = 90
)

// limitMemory keeps the heap small, and below the memory limit of the container. GOGC and
// GOMEMLIMIT in the environment take precedence.
func limitMemory(container fs.FS) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := containerLimit(container); limit < math.MaxInt64 {
			debug.SetMemoryLimit(limit / 100 * heapShare)
		}
	}
}

// containerLimit returns the memory limit of the container in bytes, or the largest number
// if there is none.
func containerLimit(root fs.FS) int64 {
	for _, file := range []string{
		"sys/fs/cgroup/memory.max",                   // cgroup v2
		"sys/fs/cgroup/memory/memory.limit_in_bytes", // cgroup v1; a huge number without a limit
	} {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			return limit
		}
	}
	return math.MaxInt64
}
