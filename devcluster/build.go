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
	"strings"
	"syscall"
)

func runBuild(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: build takes no arguments", errUsage)
	}
	at, err := findLayout()
	if err != nil {
		return err
	}
	return at.build(ctx)
}

var errInterruptedBuild = errors.New("interrupted; what is compiled is kept for the next time")

type target struct {
	what    string // for messages
	module  string // the folder of its go.mod
	pkg     string // relative to the module
	output  string
	ldflags string
}

// build compiles the binaries that are out of date. go's build cache decides which
// ones are.
func (l layout) build(ctx context.Context) error {
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
		fmt.Fprintln(os.Stderr, "devcluster: compiling Kubernetes from source: about 4 minutes on 2 cores the first time, seconds afterwards")
	}
	version, err := kubernetesVersion(ctx, source)
	if err != nil {
		return err
	}
	targets := []target{
		{what: "the Kubernetes control plane", module: source, pkg: "./controlplane", output: l.controlplane(), ldflags: version},
		{what: "kwok", module: filepath.Join(source, "kwok"), pkg: ".", output: l.kwok()},
	}
	for _, t := range targets {
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
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-ldflags=-s -w "+t.ldflags, "-o", t.output, t.pkg)
	cmd.Dir = t.module
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

// kubernetesVersion returns the linker flags that set the version of the binary, as
// Kubernetes' own build does. Clients read this version.
func kubernetesVersion(ctx context.Context, source string) (ldflags string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	cmd.Dir = source
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the version of k8s.io/kubernetes: %w", err)
	}
	version := strings.TrimSpace(string(out))
	major, minor, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, set := range []string{"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean"} {
			ldflags += " -X " + pkg + "." + set
		}
	}
	return ldflags, nil
}

// packages counts the packages of the binary.
func (t target) packages(ctx context.Context) (int, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", t.pkg)
	cmd.Dir = t.module
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
