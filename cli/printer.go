package cli

import (
	"fmt"
	"io"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/output"
	"reconcel/internal/yamltext"
)

// A printer prints: results to stdout, and everything else to stderr.
type printer struct{ stdout, stderr io.Writer }

// say prints one line to stderr.
func (p *printer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p.stderr, format+"\n", args...)
}

// print writes a result to stdout. A failed write is a failure of the command.
func (p *printer) print(result []byte) error {
	if _, err := p.stdout.Write(result); err != nil {
		return exit.Failure(fmt.Errorf("write the result: %w", err))
	}
	return nil
}

// deliver writes a result to a file, or to stdout without one. If that fails, the file is as
// it was.
func (p *printer) deliver(result []byte, path string) error {
	if path == "" || path == files.Stdin {
		return p.print(result)
	}
	if err := files.Replace(path, result); err != nil {
		return exit.Failure(fmt.Errorf("%s: cannot be written: %w", path, err))
	}
	return nil
}

// printJSON writes a result to stdout as JSON.
func (p *printer) printJSON(result any) error { return p.printEncoded(output.JSON(result)) }

// printYAML writes a result to stdout as YAML.
func (p *printer) printYAML(result any) error { return p.printEncoded(yamltext.Marshal(result)) }

func (p *printer) printEncoded(text []byte, err error) error {
	if err != nil {
		return exit.Failure(err)
	}
	return p.print(text)
}

// printAs writes a result to stdout as JSON, as YAML, or in another way.
func (p *printer) printAs(format string, result any, otherwise func() error) error {
	switch format {
	case "json":
		return p.printJSON(result)
	case "yaml":
		return p.printYAML(result)
	}
	return otherwise()
}

// table returns a table to print. -w prints nothing else.
func (p *printer) table(format string, watch bool) (*output.Table, error) {
	if watch && format != "table" && format != "wide" {
		return nil, exit.Misused("-w prints a table and cannot be used with -o %s", format)
	}
	return &output.Table{Print: p.print, Wide: format == "wide", Coloured: output.IsColoured(p.stdout)}, nil
}
