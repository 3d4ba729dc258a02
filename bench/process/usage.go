package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used since it started.
type Usage struct {
	CPU  time.Duration // in user and kernel mode, of all threads; to 10 ms
	Peak int64         // bytes: the most that was ever resident (VmHWM)
}

// userHZ is the unit of the times in /proc/PID/stat: 100 ticks a second for every
// architecture that Go supports (proc_pid_stat(5), sysconf(_SC_CLK_TCK)).
const userHZ = 100

// ReadUsage reads /proc/PID. It fails if the process has been waited for.
func ReadUsage(pid int) (Usage, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return Usage{}, err
	}
	cpu, cpuErr := parseStat(string(stat))
	peak, peakErr := parseStatus(string(status))
	if err := errors.Join(cpuErr, peakErr); err != nil {
		return Usage{}, fmt.Errorf("%s: %w", folder, err)
	}
	return Usage{CPU: cpu, Peak: peak}, nil
}

// parseStat returns utime + stime, the fields 14 and 15 of proc_pid_stat(5). Field 2, the
// name of the command in brackets, may contain spaces and brackets.
func parseStat(text string) (time.Duration, error) {
	const afterName, utime, stime = 3, 14, 15
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return 0, fmt.Errorf("stat has no name of a command: %q", text)
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) <= stime-afterName {
		return 0, fmt.Errorf("stat has too few fields: %q", text)
	}
	var ticks int64
	for _, field := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[field-afterName], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat: field %d: %w", field, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / userHZ), nil
}

// parseStatus returns VmHWM of proc_pid_status(5), in bytes.
func parseStatus(text string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "VmHWM:")
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if !ok {
			return 0, fmt.Errorf("status: VmHWM has no unit kB: %q", line)
		}
		kibibytes, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("status: VmHWM: %w", err)
		}
		return kibibytes << 10, nil
	}
	return 0, errors.New("status has no VmHWM: the process has ended")
}
