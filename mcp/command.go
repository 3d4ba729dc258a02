package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// mostOutput is how much reconcel may print for one call, in bytes. It is some 60,000 tokens.
const mostOutput = 256 << 10

// findReconcel returns the path of reconcel: beside this program, or in PATH.
func findReconcel() (string, error) {
	if own, err := os.Executable(); err == nil {
		if target, err := filepath.EvalSymlinks(own); err == nil {
			own = target
		}
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(own), "reconcel")); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath("reconcel")
	if err != nil {
		return "", errors.New("the program reconcel is neither beside reconcel-mcp nor in PATH")
	}
	return filepath.Abs(found)
}

// A printed is what reconcel printed, and its exit code.
type printed struct {
	out, notes string
	code       int
}

// A limited keeps the first bytes that are written to it, and stops the program that writes more.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom has no limit
	stop context.CancelCauseFunc
}

var errTooMuch = fmt.Errorf("the result has more than %d KiB: ask for less, such as one file, one resource or one kind",
	mostOutput>>10)

func (l *limited) Write(p []byte) (int, error) {
	if room := mostOutput - l.kept.Len(); len(p) > room {
		l.kept.Write(p[:room])
		l.stop(errTooMuch)
		return room, errTooMuch
	}
	return l.kept.Write(p)
}

// reconcel runs a command of reconcel. An error says that it did not end, or not by itself. Nothing that it starts
// remains. kubeconfig is the only cluster that it can reach, or "".
func (s *server) reconcel(ctx context.Context, kubeconfig string, args ...string) (printed, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout,
		fmt.Errorf("it took longer than %s: ask for less, or start reconcel-mcp with a longer --timeout", s.timeout))
	defer cancel()
	home, err := os.MkdirTemp("", "reconcel-mcp-")
	if err != nil {
		return printed{}, err
	}
	defer os.RemoveAll(home)
	out, notes := &limited{stop: stop}, &limited{stop: stop}
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.folder, out, notes
	cmd.WaitDelay = time.Second
	// The environment of this process has credentials that reconcel does not need.
	cmd.Env = []string{"RECONCEL_READ_WITHIN=" + s.folder, "PWD=" + s.folder, "HOME=" + home, "TMPDIR=" + home,
		"KUBECONFIG=" + kubeconfig, "NO_COLOR=1", "PATH=" + os.Getenv("PATH"), "GOMEMLIMIT=1GiB"}
	endWithUs(cmd)
	runtime.LockOSThread() // The program ends with the thread that has started it.
	err = cmd.Run()
	runtime.UnlockOSThread()
	result := printed{out.kept.String(), strings.TrimSpace(notes.kept.String()), cmd.ProcessState.ExitCode()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case errors.As(err, &exit) && exit.Exited():
		return result, nil
	}
	return result, err
}
