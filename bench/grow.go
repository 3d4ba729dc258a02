package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reconcel/bench/driver"
	"reconcel/bench/report"
	"reconcel/internal/devcluster"
)

// childCounts are the numbers of Deployments for each Foo.
var childCounts = []int{1, 3}

// grow measures how time and memory of reconcel grow with Foos and Deployments.
func grow(ctx context.Context, o options, c competitor, folder string) error {
	var grown []report.Growth
	var version string
	for _, n := range o.growth {
		for _, children := range childCounts {
			growth := report.Growth{N: n, Children: children}
			var err error
			version, err = onCluster(ctx, c.crds, func(cluster *devcluster.Cluster) error {
				if err := writeRules(c.rules, firstImage, children); err != nil {
					return err
				}
				return with(ctx, cluster, c, folder, names(n), func(ctx context.Context, m *measurement) error { return m.grow(ctx, &growth) })
			})
			if err != nil {
				return fmt.Errorf("%d Foos with %d Deployments each: %w", n, children, err)
			}
			grown = append(grown, growth)
			say("%d Foos with %d Deployments each: %.1f s, CPU %.2f ms for each Foo, peak %d MB",
				n, children, growth.Time.Seconds(), milliseconds(growth.CPU)/float64(n), growth.Peak/1e6)
		}
	}
	content := conditions(version, "-growth "+list(o.growth)) + report.GrowthTable(grown)
	return publish(o.page, "growth", content, func(folder string) (string, error) { return report.GrowthPlot(folder, grown) })
}

// grow creates all Foos, and waits for all their Deployments and statuses.
func (m *measurement) grow(ctx context.Context, growth *report.Growth) error {
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
	err := m.settle(ctx)
	usage, usageErr := m.processes.Usage()
	growth.CPU, growth.Peak = usage.CPU, usage.Peak
	return errors.Join(err, usageErr)
}

// suffixed returns the names of the Deployments with this number.
func suffixed(names []string, number int) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = fmt.Sprintf("%s-%d", name, number)
	}
	return all
}
