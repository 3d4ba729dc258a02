package cli

import (
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

const (
	// heapGrowth is how much the heap may grow before garbage is collected, in percent. Most
	// of the heap are caches, which live long: a collection frees little, and the default of
	// 100 would double the memory of a process.
	heapGrowth = 75
	// leastGrowth is how much may be allocated at least before garbage is collected, in bytes.
	// While the caches are small, collections would otherwise take more CPU than the work.
	leastGrowth = 16 << 20
	// heapShare is the part of the container's memory that the heap may use, in percent. The
	// rest is for what the Go runtime does not count, such as the pages of the binary.
	heapShare = 90
)

// limitMemory keeps the heap small, and below the memory limit of the container. GOGC and
// GOMEMLIMIT in the environment take precedence.
func limitMemory(container fs.FS) {
	if os.Getenv("GOGC") == "" {
		pace(0)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if limit := containerLimit(container); limit < math.MaxInt64 {
			debug.SetMemoryLimit(limit / 100 * heapShare)
		}
	}
}

// pace sets how much the heap may grow, now and after each collection of garbage.
func pace(current int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if growth := growthFor(live[0].Value.Uint64()); growth != current {
		debug.SetGCPercent(growth)
		current = growth
	}
	// The next collection finds that nothing uses this, and calls pace again.
	runtime.AddCleanup(new([16]byte), pace, current)
}

// growthFor returns how much a heap may grow, in percent, when this many bytes of it are in use.
func growthFor(live uint64) int {
	return max(heapGrowth, int(leastGrowth*100/max(live, leastGrowth/16)))
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
