package cli

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestContainerLimit(t *testing.T) {
	const v2, v1 = "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"cgroup v2":           {map[string]string{v2: "536870912\n"}, 512 << 20},
		"cgroup v2, no limit": {map[string]string{v2: "max\n"}, math.MaxInt64},
		"cgroup v1":           {map[string]string{v1: "134217728\n"}, 128 << 20},
		"no cgroup":           {nil, math.MaxInt64},
		"unreadable":          {map[string]string{v2: "much\n"}, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := containerLimit(root); got != c.want {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
		})
	}
}

// TestUsersSettingsOfTheCollectorWin changes the settings of this process, and restores them.
func TestUsersSettingsOfTheCollectorWin(t *testing.T) {
	growth, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(growth)
		debug.SetMemoryLimit(limit)
	}()
	container := fstest.MapFS{"sys/fs/cgroup/memory.max": {Data: []byte("8589934592\n")}}
	for _, c := range []struct {
		growth, limit string // in the environment
		wantGrowth    int
		wantLimit     int64
	}{
		{"80", "", 80, (8 << 30) / 100 * heapShare},
		{"80", "4GiB", 80, 4 << 30},
		{"", "", gcPercent, (8 << 30) / 100 * heapShare},
		{"", "4GiB", gcPercent, 4 << 30},
	} {
		debug.SetGCPercent(80)
		debug.SetMemoryLimit(4 << 30)
		t.Setenv("GOGC", c.growth)
		t.Setenv("GOMEMLIMIT", c.limit)
		limitMemory(container)
		if got := debug.SetGCPercent(100); got != c.wantGrowth {
			t.Errorf("GOGC=%s: the heap may grow by %d %%, want %d", c.growth, got, c.wantGrowth)
		}
		if got := debug.SetMemoryLimit(-1); got != c.wantLimit {
			t.Errorf("GOMEMLIMIT=%s: the limit is %d, want %d", c.limit, got, c.wantLimit)
		}
	}
}
