package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// run measures what the options ask for, and reports.
func run(ctx context.Context, o options) error {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	all, err := competitors(folder, o)
	if err != nil {
		return err
	}
	switch {
	case len(o.sizes) > 0:
		return scale(ctx, o, all[0], folder)
	case len(o.growth) > 0:
		return grow(ctx, o, all[0], folder)
	case o.installations > 0:
		return install(ctx, o, all[0], folder)
	}
	return compare(ctx, o, all, folder)
}

// compare measures all competitors in turn. After a failure, it prints what it has measured.
func compare(ctx context.Context, o options, all []competitor, folder string) error {
	results, version, err := measureAll(ctx, o, all, folder)
	content := conditions(version, flagsOf(o)) + report.Tables(results)
	if err != nil {
		fmt.Print(content)
		return err
	}
	plots := func(folder string) (string, error) { return report.Plots(folder, results) }
	return publish(o.page, "bench", content, plots)
}

// measureAll returns the results until the first failure, and the version of Kubernetes.
func measureAll(ctx context.Context, o options, all []competitor, folder string) (
	results []report.Result, version string, err error,
) {
	for _, n := range o.ns {
		for round := range o.rounds {
			for i := range all {
				// Each round begins with another one, so that a machine that gets slower
				// favours none.
				c := all[(i+round)%len(all)]
				started := time.Now()
				result := report.Result{Competitor: c.name, N: n, Round: round + 1}
				if version, err = measureOnce(ctx, c, folder, &result); err != nil {
					return results, version, fmt.Errorf("%s with %d Foos, round %d: %w", c.name, n, round+1, err)
				}
				results = append(results, result)
				say("round %d of %d, %d Foos, %-14s in %4.0f s: %s",
					round+1, o.rounds, n, c.name, time.Since(started).Seconds(), result)
			}
		}
	}
	return results, version, nil
}

// measureOnce measures a competitor on a control plane of its own.
func measureOnce(ctx context.Context, c competitor, folder string, result *report.Result) (version string, err error) {
	return onCluster(ctx, c.crds, func(cluster *devcluster.Cluster) error {
		if err := writeRules(c.rules, firstImage, 1); err != nil {
			return err
		}
		return with(ctx, cluster, c, folder, names(result.N), func(ctx context.Context, m *measurement) error {
			return m.all(ctx, c, result)
		})
	})
}

// flagsOf returns the flags of a comparison.
func flagsOf(o options) string {
	flags := fmt.Sprintf("-n %s -rounds %d", list(o.ns), o.rounds)
	if !slices.Equal(o.only, report.Competitors) {
		flags += " -only " + strings.Join(o.only, ",")
	}
	if o.conditions {
		flags += " -conditions"
	}
	return flags
}

// publish prints tables, and writes them and the plots to a section of the page. The plots
// are in a folder that is named like the page. Without a page, it only prints.
func publish(page, section, tables string, plot func(folder string) (markdown string, err error)) error {
	fmt.Print(tables)
	if page == "" {
		return nil
	}
	plots, err := plot(strings.TrimSuffix(page, filepath.Ext(page)))
	if err != nil {
		return err
	}
	return report.Fill(page, section, tables+plots)
}

// onCluster calls do with a control plane that has the CRDs of a folder, no controllers and
// no other objects. It returns the version of Kubernetes.
func onCluster(ctx context.Context, crds string, do func(*devcluster.Cluster) error) (version string, err error) {
	cluster, err := devcluster.Run(devcluster.Options{
		CRDs:    crds,
		Without: []string{devcluster.ControllerManager, devcluster.Scheduler, devcluster.Kwok},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
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
	if err := published(ctx, cluster.Config(), client.Discovery().OpenAPIV3()); err != nil {
		return "", err
	}
	return info.GitVersion, do(cluster)
}

// published waits until the API server has published the schemas of all custom kinds, which it does some
// time after their CRDs are established. A competitor that starts before would read them during the first
// step.
func published(ctx context.Context, config *rest.Config, schemas openapi.Client) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	crds, err := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	missing := ""
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		paths, err := schemas.Paths()
		missing = unpublished(crds.Items, paths)
		return missing == "", err
	})
	if err != nil {
		return fmt.Errorf("wait for the schema of %s: %w", missing, err)
	}
	return nil
}

// unpublished returns the group and version of a CRD that has no schema among the paths, or "".
func unpublished(crds []unstructured.Unstructured, paths map[string]openapi.GroupVersion) string {
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			name := fmt.Sprintf("%s/%v", group, version["name"])
			if version["served"] == true && paths["apis/"+name] == nil {
				return name
			}
		}
	}
	return ""
}

// conditions says how figures were made: with these flags.
func conditions(version, flags string) string {
	return fmt.Sprintf("Measured on %d CPUs (%s/%s) with Kubernetes %s and %s: `make bench-cluster BENCH='%s'`.\n\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, version, runtime.Version(), flags)
}

// list is a flag of numbers.
func list(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}

// say prints progress to stderr. stdout is for the tables.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
