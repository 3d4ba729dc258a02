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

// add returns the sums.
func (u Usage) add(other Usage) Usage {
	return Usage{CPU: u.CPU + other.CPU, Peak: u.Peak + other.Peak}
}

// Child is a running child of a process.
type Child struct {
	PID   int
	Args  []string // its command line, the program first
	Usage Usage    // since its start
}

// Children returns the running children of a process, and fails if it has none.
func Children(parent int) (children []Child, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		folder := filepath.Dir(file)
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended.
		}
		of, err := parentOf(string(stat))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if of != parent {
			continue
		}
		pid, pidErr := strconv.Atoi(filepath.Base(folder))
		args, argsErr := os.ReadFile(filepath.Join(folder, "cmdline"))
		usage, usageErr := ReadUsage(pid)
		if err := errors.Join(pidErr, argsErr, usageErr); err != nil {
			return nil, err
		}
		children = append(children, Child{PID: pid, Args: strings.Split(string(args), "\x00"), Usage: usage})
	}
	if len(children) == 0 {
		return nil, fmt.Errorf("process %d has no children", parent)
	}
	return children, nil
}

// parentOf returns ppid, field 4 of proc_pid_stat(5).
func parentOf(stat string) (int, error) {
	fields, err := fieldsOf(stat, 4)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[4-afterName])
}

// parseStat returns utime + stime, the fields 14 and 15 of proc_pid_stat(5).
func parseStat(text string) (time.Duration, error) {
	const utime, stime = 14, 15
	fields, err := fieldsOf(text, stime)
	if err != nil {
		return 0, err
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

// afterName is the number of the first field that fieldsOf returns.
const afterName = 3

// fieldsOf returns the fields of proc_pid_stat(5) after the name of the command, up to one
// that must be there. The name is in brackets, and may contain spaces and brackets.
func fieldsOf(stat string, last int) ([]string, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return nil, fmt.Errorf("stat has no name of a command: %q", stat)
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= last-afterName {
		return nil, fmt.Errorf("stat has too few fields: %q", stat)
	}
	return fields, nil
}

// AvailableMemory returns how many bytes the machine has for processes without swapping.
func AvailableMemory() (int64, error) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	return parseSize(string(text), "MemAvailable")
}

// parseStatus returns VmHWM of proc_pid_status(5), in bytes. A process that has ended has none.
func parseStatus(text string) (int64, error) { return parseSize(text, "VmHWM") }

// parseSize returns the size with this name in a file of /proc, in bytes.
func parseSize(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, name+":")
		if !ok {
			continue
		}
		number, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if !ok {
			return 0, fmt.Errorf("%s has no unit kB: %q", name, line)
		}
		kibibytes, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return kibibytes << 10, nil
	}
	return 0, fmt.Errorf("there is no %s", name)
}
