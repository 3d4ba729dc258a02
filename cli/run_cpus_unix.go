//go:build unix

package cli

import (
	"syscall"
	"time"
)

// usedCPU returns the CPU time that the process has used.
func usedCPU() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
