// Reconcel-convert makes rules of the definitions of other projects, and manifests of Helm charts. reconcel
// import and reconcel init --chart start it, and read what it prints.
//
// It is a program of its own, in a Go module of its own: the controller does not need what it needs.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"reconcel/convert/chart"
	"reconcel/convert/crossplane"
	"reconcel/convert/foreign"
	"reconcel/convert/kro"
	"reconcel/internal/conversion"
	"reconcel/rules/source"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// projects are those whose definitions become rules.
var projects = map[string]func([]source.File) (*foreign.Result, error){
	conversion.Kro:        kro.Convert,
	conversion.Crossplane: crossplane.Convert,
}

// run returns the exit code: 0, 1 for an error, or 2 for wrong usage.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	commands := append(slices.Sorted(maps.Keys(projects)), conversion.Chart)
	if len(args) == 0 || !slices.Contains(commands, args[0]) {
		_, _ = fmt.Fprintf(stderr, "error: give a command: %s\n", strings.Join(commands, ", "))
		return 2
	}
	var err error
	if convert := projects[args[0]]; convert != nil {
		err = convertFiles(convert, stdin, stdout)
	} else {
		err = chart.Run(args[1:], stdout, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}

func convertFiles(convert func([]source.File) (*foreign.Result, error), stdin io.Reader, stdout io.Writer) error {
	var files []source.File
	if err := json.NewDecoder(stdin).Decode(&files); err != nil {
		return fmt.Errorf("stdin has no files for %s, which reconcel starts: %w", conversion.Program, err)
	}
	converted, err := convert(files)
	if err != nil {
		return err
	}
	out := conversion.Result{Findings: converted.Report.Of(files)}
	if len(converted.Rules) > 0 {
		if out.Files, err = converted.Files(); err != nil {
			return err
		}
	}
	return json.NewEncoder(stdout).Encode(out)
}
