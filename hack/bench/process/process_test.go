package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const stat = "4711 (a) b (c) S 1 4711 4711 0 -1 4194560 1234 0 0 0 250 75 9 9 20 0 12 0 100 1000 500"
	if cpu, err := parseStat(stat); err != nil || cpu != 3250*time.Millisecond {
		t.Errorf("got %v, %v, want 3.25s: 250 + 75 ticks", cpu, err)
	}
	for _, bad := range []string{"", "4711 S 1", "4711 (a) S 1 2", "4711 (a) S 1 2 3 4 5 6 7 8 9 10 x 12 13"} {
		if cpu, err := parseStat(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, cpu)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const status = "Name:\ta\nVmPeak:\t  999 kB\nVmHWM:\t   46088 kB\nVmRSS:\t   100 kB\n"
	if peak, err := parseStatus(status); err != nil || peak != 46088<<10 {
		t.Errorf("got %d, %v, want 46088 KiB", peak, err)
	}
	for _, bad := range []string{"", "Name:\ta\n", "VmHWM:\t12 MB\n", "VmHWM:\tx kB\n"} {
		if peak, err := parseStatus(bad); err == nil {
			t.Errorf("%q: got %d, want an error", bad, peak)
		}
	}
}

// TestUsageOfThisProcess reads the real files.
func TestUsageOfThisProcess(t *testing.T) {
	usage, err := ReadUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if usage.Peak < 1<<20 {
		t.Errorf("got %d bytes, and a Go program needs more than 1 MiB", usage.Peak)
	}
}

// TestChildren has a child that has worked, and waits.
func TestChildren(t *testing.T) {
	if _, err := Children(-1); err == nil {
		t.Error("a process that does not exist has children")
	}
	child := exec.CommandContext(t.Context(), "/bin/sh", "-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; echo worked; read end")
	in, inErr := child.StdinPipe()
	out, outErr := child.StdoutPipe()
	if err := errors.Join(inErr, outErr, child.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "worked\n" {
		t.Fatalf("the child printed %q: %v", line, err)
	}
	children, err := Children(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(children, func(c Child) bool { return c.PID == child.Process.Pid })
	if i < 0 || children[i].Args[0] != "/bin/sh" || children[i].Usage.CPU < 10*time.Millisecond {
		t.Errorf("got %v after half a million steps of process %d", children, child.Process.Pid)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // read fails at the end of its input.
}

// TestGroup starts two processes. One of them ends by itself.
func TestGroup(t *testing.T) {
	command := func(script string) Command {
		return Command{Binary: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
	}
	died := make(chan error, 2)
	commands := []Command{command("read line"), command("read line; echo enough; exit 3")}
	g, err := StartGroup(commands, func(err error) { died <- err })
	if err != nil {
		t.Fatal(err)
	}
	defer g.Stop(t.Context())
	first, firstErr := g[0].Usage()
	second, secondErr := g[1].Usage()
	both, err := g.Usage()
	if err := errors.Join(firstErr, secondErr, err); err != nil {
		t.Fatal(err)
	}
	if both.Peak < max(first.Peak, second.Peak)+1<<10 {
		t.Errorf("the peak of %d and %d bytes is %d", first.Peak, second.Peak, both.Peak)
	}
	fmt.Fprintln(g.Stdin())
	if err := <-died; !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v", err)
	}
	g.Stop(t.Context())
	if len(died) > 0 {
		t.Errorf("got %v for the process that was stopped", <-died)
	}
	if _, err := g.Usage(); err == nil {
		t.Error("processes that have ended still have a usage")
	}
}

func TestGroupStartsAllOrNone(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	died := make(chan error, 1)
	_, err := StartGroup([]Command{
		{Binary: "/bin/sh", Args: []string{"-c", "read line"}, Log: log},
		{Binary: "/no/such/program", Log: log},
	}, func(err error) { died <- err })
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
	if len(died) > 0 {
		t.Errorf("got %v for the process that was stopped", <-died)
	}
}

func start(t *testing.T, script string) (*Process, chan error) {
	t.Helper()
	died := make(chan error, 1)
	command := Command{Binary: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
	p, err := command.Start(func(err error) { died <- err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(t.Context()) })
	return p, died
}

func TestDeathIsReportedWithTheLog(t *testing.T) {
	_, died := start(t, "echo no such host; exit 3")
	if err := <-died; !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("got %v", err)
	}
}

func TestStopIsNoDeath(t *testing.T) {
	p, died := start(t, "read line") // It waits for a line that never comes.
	p.Stop(t.Context())
	p.Stop(t.Context())
	select {
	case err := <-died:
		t.Errorf("got %v", err)
	default:
	}
	if _, err := p.Usage(); err == nil {
		t.Error("a process that has ended still has a usage")
	}
}
