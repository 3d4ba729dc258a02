package chart

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string { return strings.Join(*t, ",") }

func (t *texts) Set(value string) error {
	*t = append(*t, value)
	return nil
}

// Run prints the manifests of the chart that the arguments name: [-name NAME] [-namespace NAMESPACE]
// [-values FILE]... CHART.
func Run(args []string, stdout, stderr io.Writer) error {
	var r release
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	flags.SetOutput(stderr)
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
