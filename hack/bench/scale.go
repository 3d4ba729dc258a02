package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reconcel/hack/bench/driver"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// A scenario is a workload of reconcel alone that grows in one dimension.
type scenario struct {
	name string // of the flag, and of the section of the page
	what string // is counted by the size
	// change says in the table what is changed once everything exists.
	changed string

	rules       func(foo string, size int) (string, error) // made of the text of examples/foo/rules.yaml
	foos        func(size int) []string
	deployments func(size int) []string
	// before creates what the Foos need. It may be nil.
	before func(context.Context, *measurement) error
	// change makes one change, and returns the time until the first Deployment shows it.
	change func(ctx context.Context, m *measurement, rules string, size int) (time.Duration, error)
}

// foosOfRules is the number of Foos that share the rules.
const foosOfRules = 1000

// scenarios are measured in this order.
var scenarios = []scenario{
	{
		name: "rules", what: "rules", changed: "one rule gets another image",
		rules: func(foo string, size int) (string, error) { return withRules(foo, size, firstImage) },
		foos:  foosByRule, deployments: foosByRule,
		change: changeRule,
	},
	{
		name: "lookups", what: "Foos, each with a ConfigMap", changed: "one ConfigMap gets another image",
		rules: func(foo string, _ int) (string, error) { return withLookup(foo) },
		foos:  names, deployments: names,
		before: func(ctx context.Context, m *measurement) error {
			return m.driver.CreateSettings(ctx, m.names, firstImage)
		},
		change: changeSettings,
	},
	{
		name: "collections", what: "Deployments of one Foo", changed: "another writer changes one Deployment",
		rules:       withCollection,
		foos:        func(int) []string { return names(1) },
		deployments: func(size int) []string { return numbered(names(1)[0], size) },
		change: func(ctx context.Context, m *measurement, _ string, size int) (time.Duration, error) {
			return m.driver.Drift(ctx, numbered(m.names[0], size)[size/2])
		},
	},
}

// foosByRule returns Foos whose names end with the rule for them.
func foosByRule(size int) []string {
	all := names(foosOfRules)
	for i := range all {
		all[i] += suffixOfRule(i % size)
	}
	return all
}

// numbered returns the names of the Deployments of a Foo, from 0.
func numbered(foo string, size int) []string {
	all := make([]string, size)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", foo, i)
	}
	return all
}

// changeRule changes the image of the first rule.
func changeRule(ctx context.Context, m *measurement, rules string, size int) (time.Duration, error) {
	var changed []string
	for i := 0; i < len(m.names); i += size {
		changed = append(changed, m.names[i])
	}
	wait := m.driver.Expect(changed, driver.Runs(secondImage))
	started := time.Now()
	err := writeMade(rules, func(foo string) (string, error) { return withRules(foo, size, secondImage) })
	if err != nil {
		return 0, err
	}
	reached, err := wait.Until(ctx)
	return reached.First.Sub(started), err
}

// changeSettings changes the ConfigMap of the first Foo.
func changeSettings(ctx context.Context, m *measurement, _ string, _ int) (time.Duration, error) {
	wait := m.driver.Expect(m.names[:1], driver.Runs(secondImage))
	started := time.Now()
	if err := m.driver.ChangeSettings(ctx, m.names[0], secondImage); err != nil {
		return 0, err
	}
	reached, err := wait.Until(ctx)
	return reached.First.Sub(started), err
}

// scale measures the scenarios that the options ask for.
func scale(ctx context.Context, o options, c competitor, folder string) error {
	for _, s := range scenarios {
		if len(o.sizes[s.name]) == 0 {
			continue
		}
		var all []report.Scaling
		var version string
		for _, size := range o.sizes[s.name] {
			scaling := report.Scaling{Size: size}
			var err error
			version, err = onCluster(ctx, c.crds, func(cluster *devcluster.Cluster) error {
				if err := writeMade(c.rules, func(foo string) (string, error) { return s.rules(foo, size) }); err != nil {
					return err
				}
				return with(ctx, cluster, c, folder, s.foos(size),
					func(ctx context.Context, m *measurement) error { return m.scale(ctx, s, c.rules, &scaling) })
			})
			if err != nil {
				return fmt.Errorf("%s: %d: %w", s.name, size, err)
			}
			all = append(all, scaling)
			say("%d %s: %.1f s, CPU %.0f ms, peak %d MB; %s: %.0f ms, CPU %.0f ms, %d writes", size, s.what,
				scaling.Time.Seconds(),
				milliseconds(scaling.CPU), scaling.Peak/1e6, s.changed, milliseconds(scaling.Change),
				milliseconds(scaling.ChangeCPU), scaling.ChangeWrites)
		}
		content := conditions(version, fmt.Sprintf("-%s %s", s.name, list(o.sizes[s.name]))) + report.ScalingTable(s.what,
			s.changed, all)
		err := publish(o.page, s.name, content,
			func(folder string) (string, error) { return report.ScalingPlots(folder, s.name, s.what, all) })
		if err != nil {
			return err
		}
	}
	return nil
}

// scale creates everything, and then makes one change.
func (m *measurement) scale(ctx context.Context, s scenario, rules string, scaling *report.Scaling) error {
	if s.before != nil {
		if err := s.before(ctx, m); err != nil {
			return err
		}
	}
	if err := m.settle(ctx); err != nil {
		return err
	}
	idle, err := m.processes.Usage()
	if err != nil {
		return err
	}
	started := time.Now()
	wait := m.driver.Expect(s.deployments(scaling.Size), driver.Exists(1))
	if err := m.driver.Create(ctx, m.names, 1); err != nil {
		return err
	}
	reached, err := wait.Until(ctx)
	if err != nil {
		return err
	}
	if err := m.settle(ctx); err != nil {
		return err
	}
	created, err := m.processes.Usage()
	if err != nil {
		return err
	}
	scaling.Time, scaling.CPU = reached.Children.Sub(started), created.CPU-idle.CPU
	return m.changeOnce(ctx, s, rules, scaling)
}

// changeOnce makes the change of a scenario.
func (m *measurement) changeOnce(ctx context.Context, s scenario, rules string, scaling *report.Scaling) (err error) {
	before, err := m.processes.Usage()
	if err != nil {
		return err
	}
	started := time.Now()
	if scaling.Change, err = s.change(ctx, m, rules, scaling.Size); err != nil {
		return err
	}
	if err := m.settle(ctx); err != nil {
		return err
	}
	after, usageErr := m.processes.Usage()
	requests, err := m.requests(started, time.Now())
	if err := errors.Join(usageErr, err); err != nil {
		return err
	}
	scaling.ChangeCPU, scaling.Peak = after.CPU-before.CPU, after.Peak
	for _, r := range requests {
		if r.IsWrite() && !isEvent(r) {
			scaling.ChangeWrites++
		}
	}
	return nil
}
