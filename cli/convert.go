package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/internal/conversion"
)

// runConvert runs a command of the program reconcel-convert, and returns what it prints. The error begins
// with what was to be done.
func runConvert(what string, stdin []byte, args ...string) ([]byte, error) {
	program, err := findConvert()
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(errs.String()); text != "" {
			err = errors.New(strings.TrimPrefix(text, "error: "))
		}
		return nil, exit.Wrong(fmt.Errorf("%s: %w", what, err))
	}
	return out.Bytes(), nil
}

// findConvert returns the path of the program: beside this one, or in PATH.
func findConvert() (string, error) {
	if own, err := os.Executable(); err == nil {
		if target, err := filepath.EvalSymlinks(own); err == nil {
			own = target // krew makes a link to the program.
		}
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(own), conversion.Program)); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(conversion.Program)
	if err != nil {
		return "", exit.Failure(fmt.Errorf("the program %s is neither beside reconcel nor in PATH: take it from the "+
			"archive of the release, or build it with make build-convert", conversion.Program))
	}
	return found, nil
}
