// Package cputime tells tests how long this process has worked and waited for a processor, so that
// other load on the machine does not count.
package cputime

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Used returns the CPU time of this process.
func Used() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // There is no such error.
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Waited returns how long the threads of this process, taken together, have waited while other threads had the
// processors. It is 0 on systems without /proc.
func Waited() (d time.Duration) {
	threads, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // The thread has ended.
		}
		var running, waiting int64
		if _, err := fmt.Sscan(string(text), &running, &waiting); err == nil {
			d += time.Duration(waiting)
		}
	}
	return d
}
