package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func runBuild(ctx context.Context, args []string) error {
	flags := newFlags("build")
	missing := flags.Bool("missing", false, "compile only if a binary is missing, not if one is outdated")
	if err := parseFlags(flags, args, buildUsage); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: build: unexpected argument %q", errUsage, flags.Arg(0))
	}
	r, err := selectedRelease()
	if err != nil {
		return err
	}
	at, err := findLayout(r.minor)
	if err != nil {
		return err
	}
	if *missing && at.compiled() {
		return nil
	}
	return at.build(ctx, r)
}

const buildUsage = `devcluster build compiles Kubernetes: the newest version, or that of the minor in ` +
	envKubernetes + `.

`

var errInterruptedBuild = errors.New("interrupted; what is compiled is kept for the next time")

type target struct {
	what    string // for messages
	module  string // the folder of its go.mod
	modFile string // a file to use instead of that go.mod
	output  string
	ldflags string
}

// build compiles the binaries that are out of date. go's build cache decides which
// ones are.
func (l layout) build(ctx context.Context, r release) error {
	source, err := l.source()
	if err != nil {
		return err
	}
	// Test binaries of several packages may request the same build at the same
	// time. The first one runs it, and the others find it complete.
	unlock, err := lockFile(filepath.Join(l.bin, ".devcluster-build.lock"))
	if err != nil {
		return err
	}
	defer unlock()

	if !l.compiled() {
		fmt.Fprintf(os.Stderr, "devcluster: compiling Kubernetes %s from source: about %d minutes on %d cores the first "+
			"time, seconds afterwards\n",
			r.version, compileMinutes(runtime.GOMAXPROCS(0)), runtime.GOMAXPROCS(0))
	}
	targets := []target{
		{
			what: "Kubernetes " + r.version, module: filepath.Join(source, "controlplane"),
			modFile: filepath.Join(source, r.modFile()), output: l.controlplane(), ldflags: r.ldflags(),
		},
		{what: "kwok", module: filepath.Join(source, "kwok"), output: l.kwok()},
	}
	for _, t := range targets {
		if err := os.MkdirAll(filepath.Dir(t.output), 0o755); err != nil {
			return err
		}
		if err := t.build(ctx); err != nil {
			return fmt.Errorf("compiling %s: %w", t.what, err)
		}
	}
	return nil
}

// build runs go with -v, which prints each package that it compiles. It does not
// print cached packages, so the count may end far below the total.
func (t target) build(ctx context.Context) error {
	p := startProgress(os.Stderr, "compiling "+t.what)
	total, err := t.packages(ctx)
	if err != nil {
		p.finish("compiling %s: failed", t.what)
		return err
	}
	cmd := t.command(ctx, "build", "-v", "-ldflags=-s -w "+t.ldflags, "-o", t.output)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	out, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	count, rest := watchBuild(out, func(count int) {
		p.set("compiling %s: %d of %d packages", t.what, count, total)
		if count == total {
			p.set("linking %s", t.what)
		}
	})
	if err := cmd.Wait(); err != nil {
		p.finish("compiling %s: failed", t.what)
		if ctx.Err() != nil {
			return errInterruptedBuild
		}
		return fmt.Errorf("%w\n%s", err, lastLines(rest, 30))
	}
	if count == 0 {
		p.finish("%s: up to date", t.what)
		return nil
	}
	p.finish("compiled %s: %d of %d packages, the others were in the cache", t.what, count, total)
	return nil
}

// command returns a command of go on the package.
func (t target) command(ctx context.Context, verb string, args ...string) *exec.Cmd {
	if t.modFile != "" {
		args = append(args, "-modfile="+t.modFile)
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{verb}, args, []string{"."})...)
	cmd.Dir = t.module
	return cmd
}

// compileCPU is the CPU time that compiling Kubernetes and kwok takes, in minutes. 16 to 28
// were measured, the more the busier the machine.
const compileCPU = 24

// compileMinutes estimates how long compiling takes. Linking, and packages that many
// others wait for, keep a single core busy.
func compileMinutes(cores int) int { return (compileCPU+cores-1)/cores + 1 }

// packages counts the packages of the binary.
func (t target) packages(ctx context.Context) (int, error) {
	cmd := t.command(ctx, "list", "-deps")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, lastLines(stderr.String(), 30))
	}
	return bytes.Count(out, []byte("\n")), nil
}

// watchBuild counts the packages that go prints. It returns the other lines, which
// are the errors of the compiler.
func watchBuild(out io.Reader, counted func(int)) (count int, rest string) {
	var other strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if strings.ContainsAny(line, " \t:") {
			other.WriteString(line + "\n")
			continue
		}
		count++
		counted(count)
	}
	return count, other.String()
}

// lockFile waits for a lock. The kernel releases it when the process ends.
func lockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: lock: %w", path, err)
	}
	return func() { file.Close() }, nil
}
