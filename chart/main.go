package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(value string) error {
	*t = append(*t, value)
	return nil
}

func run(args []string, stdout, stderr io.Writer) error {
	var r release
	flags := flag.NewFlagSet("reconcel-chart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "Usage: reconcel-chart [-name NAME] [-namespace NAMESPACE] [-values FILE]... CHART")
		flags.PrintDefaults()
	}
	flags.StringVar(&r.name, "name", "", "name of the release (default: that of the chart)")
	flags.StringVar(&r.namespace, "namespace", "default", "namespace of the release")
	flags.Var((*texts)(&r.values), "values", "file of values; may be repeated, the last one counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("give one chart: a folder or an archive")
	}
	r.chart = flags.Arg(0)
	manifests, err := r.render()
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, manifests)
	return err
}
