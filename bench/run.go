package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"reconcel/bench/report"
	"reconcel/internal/devcluster"
)

// run measures all competitors, and reports.
func run(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	all, err := competitors(filepath.Join(folder, "rules.yaml"))
	if err != nil {
		return err
	}
	var results []report.Result
	var version string
	for _, n := range o.ns {
		for round := range o.rounds {
			for i := range all {
				// Each round begins with another one, so that a machine that gets slower
				// favours none.
				c := all[(i+round)%len(all)]
				started := time.Now()
				result := report.Result{Competitor: c.name, N: n, Round: round + 1}
				if version, err = measureOn(ctx, c, folder, &result); err != nil {
					return fmt.Errorf("%s with %d Foos, round %d: %w", c.name, n, round+1, err)
				}
				results = append(results, result)
				say("round %d of %d, %d Foos, %-8s in %3.0f s: create %.1f s, update %.1f s, CPU %.2f and %.2f ms for each Foo, peak %d MB",
					round+1, o.rounds, n, c.name, time.Since(started).Seconds(), result.Create.Statuses.Seconds(), result.Update.Statuses.Seconds(),
					milliseconds(result.Create.CPU)/float64(n), milliseconds(result.Update.CPU)/float64(n), result.Peak/1e6)
			}
		}
	}
	return publish(o, conditions(o, version), results)
}

// measureOn measures a competitor on a control plane of its own, and returns the version
// of Kubernetes.
func measureOn(ctx context.Context, c competitor, folder string, result *report.Result) (version string, err error) {
	cluster, err := devcluster.Run(devcluster.Options{
		CRDs:    "crds",
		Without: []string{devcluster.ControllerManager, devcluster.Scheduler, devcluster.Kwok},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if cluster.Borrowed() {
		return "", devcluster.ErrBorrowed
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return "", err
	}
	info, err := client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, measure(ctx, cluster, c, folder, result)
}

// conditions says how the results were made.
func conditions(o options, version string) string {
	ns := strings.Trim(strings.ReplaceAll(fmt.Sprint(o.ns), " ", ","), "[]")
	return fmt.Sprintf("Measured on %d CPUs (%s/%s) with Kubernetes %s and %s: `make bench-cluster BENCH='-n %s -rounds %d'`. Medians of the rounds.\n\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, version, runtime.Version(), ns, o.rounds)
}

// publish prints the tables, and writes the page and the plots next to it.
func publish(o options, heading string, results []report.Result) error {
	tables := heading + report.Tables(results)
	fmt.Print(tables)
	if o.page == "" {
		return nil
	}
	plots, err := report.Plots(strings.TrimSuffix(o.page, filepath.Ext(o.page)), results)
	if err != nil {
		return err
	}
	return report.Fill(o.page, tables+plots)
}

// say prints progress to stderr. stdout is for the tables.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
