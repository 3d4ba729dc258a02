package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reconcel/hack/bench/driver"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// childCounts are the numbers of Deployments for each Foo.
var childCounts = []int{1, 3}

// grow measures how time and memory of reconcel grow with Foos and Deployments, until the API
// server is overloaded. It reports also what was measured before a failure.
func grow(ctx context.Context, o options, c competitor, folder string) (err error) {
	var grown []report.Growth
	var version, end string
	for _, size := range growthSizes(o.growth) {
		growth := report.Growth{N: size.foos, Children: size.deployments}
		if version, err = growOnce(ctx, c, folder, &growth); err != nil {
			err = fmt.Errorf("%d Foos with %d Deployments each: %w", size.foos, size.deployments, err)
			end, _, _ = strings.Cut(err.Error(), "\n")
			say("the growth ends at %s", end)
			break
		}
		grown = append(grown, growth)
		say("%d Foos with %d Deployments each in %.1f s: reconcel %s, API server %s, etcd %s", growth.N, growth.Children,
			growth.Time.Seconds(), growth.Reconcel, growth.APIServer, growth.Etcd)
	}
	if len(grown) == 0 || ctx.Err() != nil {
		return err
	}
	if reason := overload(""); errors.As(err, &reason) {
		err = nil
	}
	content := conditions(version, "-growth "+list(o.growth)) + report.GrowthTable(grown, end)
	plot := func(folder string) (string, error) { return report.GrowthPlot(folder, grown) }
	return errors.Join(err, publish(o.page, "growth", content, plot))
}

// size is a number of Foos, and of Deployments for each.
type size struct{ foos, deployments int }

// growthSizes returns the sizes to measure, the fewest Foos first: an overload then ends no size
// that the API server can carry.
func growthSizes(foos []int) []size {
	var all []size
	for _, n := range slices.Sorted(slices.Values(foos)) {
		for _, children := range childCounts {
			all = append(all, size{n, children})
		}
	}
	return all
}

// growOnce measures one size on a control plane of its own. It fails with an overload if the API
// server cannot carry that many.
func growOnce(ctx context.Context, c competitor, folder string, growth *report.Growth) (version string, err error) {
	return onCluster(ctx, c.crds, func(cluster *devcluster.Cluster) error {
		if err := writeRules(c.rules, firstImage, growth.Children); err != nil {
			return err
		}
		guarded, stop, err := guard(ctx, cluster)
		if err != nil {
			return err
		}
		defer stop()
		err = with(guarded, cluster, c, folder, names(growth.N), func(ctx context.Context, m *measurement) error {
			return m.grow(ctx, growth)
		})
		if err == nil {
			return nil
		}
		// An overload explains the error, such as a connection that was refused. It may come later.
		_ = idle(guarded, 3*guardInterval)
		if reason := overload(""); errors.As(context.Cause(guarded), &reason) {
			return reason
		}
		return err
	})
}

// grow creates all Foos, and waits for all their Deployments and statuses.
func (m *measurement) grow(ctx context.Context, growth *report.Growth) error {
	before, err := loadOf(m.cluster)
	if err != nil {
		return err
	}
	started := time.Now()
	waits := []*driver.Wait{m.driver.Expect(m.names, driver.Scaled(1))}
	for i := 2; i <= growth.Children; i++ {
		waits = append(waits, m.driver.Expect(suffixed(m.names, i), driver.Exists(1)))
	}
	if err := m.driver.Create(ctx, m.names, 1); err != nil {
		return err
	}
	for _, wait := range waits {
		reached, err := wait.Until(ctx)
		if err != nil {
			return err
		}
		growth.Time = max(growth.Time, reached.Children.Sub(started), reached.Statuses.Sub(started))
	}
	if err := m.settle(ctx); err != nil {
		return err
	}
	usage, err := m.processes.Usage()
	if err != nil {
		return err
	}
	after, err := loadOf(m.cluster)
	growth.Reconcel, growth.APIServer, growth.Etcd = used(usage), used(after.apiServer.Usage), used(after.etcd.Usage)
	growth.APIServer.CPU -= before.apiServer.Usage.CPU
	growth.Etcd.CPU -= before.etcd.Usage.CPU
	return err
}

// suffixed returns the names of the Deployments with this number.
func suffixed(names []string, number int) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%s-%d", name, number)
	}
	return all
}
