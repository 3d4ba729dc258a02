package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
)

// chartProgram renders charts. It is a program of its own because of Helm's library.
const chartProgram = "reconcel-chart"

// readChart returns the manifests of a chart.
func (a *app) readChart(f *initFlags) ([]*unstructured.Unstructured, error) {
	program, err := findChartProgram()
	if err != nil {
		return nil, err
	}
	var args []string
	if f.name != "" {
		args = append(args, "-name", f.name)
	}
	if f.namespace != "" {
		args = append(args, "-namespace", f.namespace)
	}
	for _, file := range f.values {
		args = append(args, "-values", file)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(program, append(args, f.chart)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(errs.String()); text != "" {
			err = errors.New(strings.TrimPrefix(text, "error: "))
		}
		return nil, exit.Wrong(fmt.Errorf("render the chart: %w", err))
	}
	return manifestsIn(files.Reader{Stdin: &out}, []string{files.Stdin})
}

// findChartProgram returns the path of the program that renders charts: beside this one, or
// in PATH.
func findChartProgram() (string, error) {
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), chartProgram)
		if found, err := exec.LookPath(beside); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(chartProgram)
	if err != nil {
		return "", exit.Failure(fmt.Errorf("--chart needs the program %s beside reconcel or in PATH: make build-chart builds it", chartProgram))
	}
	return found, nil
}
