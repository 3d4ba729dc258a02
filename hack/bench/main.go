// Command bench measures reconcel against a controller that is written by hand, against the
// writes that no controller can avoid, and against other projects. docs/contributing/performance.md describes
// what is measured and how.
//
// It runs in the root folder of the repository, and starts Kubernetes control planes on
// loopback:
//
//	bin/bench -n 1000,10000 -rounds 3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"reconcel/hack/bench/report"
)

// options are the flags.
type options struct {
	ns     []int
	rounds int
	only   []string // the competitors, in the order of the tables
	// conditions: reconcel reports conditions, and Events about changes. The others do not.
	conditions    bool
	growth        []int            // instead of a comparison
	installations int              // beside one process for all; instead of a comparison
	sizes         map[string][]int // of scenarios, by name; instead of a comparison
	page          string
}

func main() {
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2) // The flag package has printed the error.
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	o := options{ns: []int{1000, 10000}, only: report.Competitors, sizes: map[string][]int{}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	numbers := func(target *[]int) func(string) error {
		return func(text string) (err error) {
			*target, err = parseNumbers(text)
			return err
		}
	}
	const alone = "compare nothing, and measure reconcel alone"
	flags.Func("n", "`numbers` of Foos, separated by commas (default 1000,10000)", numbers(&o.ns))
	only := "compare these `competitors` only, separated by commas (default " + strings.Join(o.only, ",") + ")"
	flags.Func("only", only, func(text string) (err error) {
		o.only, err = parseCompetitors(text)
		return err
	})
	flags.BoolVar(&o.conditions, "conditions", false,
		"have reconcel report conditions and Events as it does by default, more than the others report; what measures "+
			"reconcel alone always does")
	flags.Func("growth", alone+" with these `numbers` of Foos, each with 1 and with 3 Deployments,"+
		" until the API server is overloaded", numbers(&o.growth))
	flags.IntVar(&o.installations, "installations", 0,
		alone+": one process for all of -n Foos in this `number` of namespaces,"+
			" and then an installation for each namespace")
	for _, s := range scenarios {
		flags.Func(s.name, fmt.Sprintf("%s with these `numbers` of %s", alone, s.what), func(text string) (err error) {
			o.sizes[s.name], err = parseNumbers(text)
			return err
		})
	}
	flags.IntVar(&o.rounds, "rounds", 3, "`number` of times to measure each competitor")
	flags.StringVar(&o.page, "page", "", "`file` to write the tables and plots to, between its markers (default: only "+
		"print the tables)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if o.rounds < 1 || o.installations < 0 || o.installations == 1 || flags.NArg() > 0 {
		err := fmt.Errorf("want at least one round, two installations if any, and no arguments: %s", strings.Join(args, " "))
		fmt.Fprintln(os.Stderr, "bench:", err)
		return options{}, err
	}
	if len(o.growth)+len(o.sizes)+o.installations > 0 {
		o.conditions, o.only = true, []string{report.Reconcel}
	}
	return o, nil
}

// parseCompetitors reads names that are separated by commas. It returns them in the order of the
// tables.
func parseCompetitors(text string) (names []string, err error) {
	given := strings.Split(text, ",")
	for _, name := range given {
		if !slices.Contains(report.Competitors, name) {
			return nil, fmt.Errorf("%q is not a competitor, want some of %s", name, strings.Join(report.Competitors, ", "))
		}
	}
	for _, name := range report.Competitors {
		if slices.Contains(given, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// parseNumbers reads positive numbers that are separated by commas.
func parseNumbers(text string) (numbers []int, err error) {
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no positive number", field)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
