package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/hack/bench/driver"
	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// user sends the requests of the competitor, and no others.
const user = "reconcel"

// measurement is a competitor at work.
type measurement struct {
	cluster   *devcluster.Cluster
	driver    *driver.Driver
	commands  []process.Command
	processes process.Group
	died      func(error) // called when a process ends by itself
	names     []string    // of the Foos
}

// with starts a competitor and a driver on a control plane, and calls do. The context of do
// ends when one of them fails.
func with(ctx context.Context, cluster *devcluster.Cluster, c competitor, folder string, foos []string,
	do func(context.Context, *measurement) error) error {
	kubeconfig, err := cluster.KubeconfigOf(user)
	if err != nil {
		return err
	}
	ctx, died := context.WithCancelCause(ctx)
	defer died(nil)
	log := filepath.Join(folder, c.name+".log")
	m := &measurement{cluster: cluster, died: died, names: foos, commands: c.commands(kubeconfig, log)}
	if m.processes, err = process.StartGroup(m.commands, died); err != nil {
		return err
	}
	stopping := context.WithoutCancel(ctx)
	defer func() { m.processes.Stop(stopping) }() // A restart replaces the processes.
	if c.started != nil {
		if err := c.started(cluster); err != nil {
			return fmt.Errorf("%w\n%s", err, process.Tail(log))
		}
	}
	var orders io.Writer
	if c.orders {
		orders = m.processes.Stdin()
	}
	if m.driver, err = driver.New(cluster.Config(), metav1.NamespaceDefault, orders); err != nil {
		return err
	}
	ctx, stop, err := m.driver.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	return do(ctx, m)
}

// all runs the steps in order. A competitor that has no watches creates, updates and
// deletes only.
func (m *measurement) all(ctx context.Context, c competitor, result *report.Result) (err error) {
	if result.IdlePeak, err = m.warmUp(ctx); err != nil {
		return fmt.Errorf("warm-up: %w", err)
	}
	if result.Create, err = m.step(ctx, driver.Scaled(1),
		func() error { return m.driver.Create(ctx, m.names, 1) }); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if result.Update, err = m.step(ctx, driver.Scaled(2),
		func() error { return m.driver.Scale(ctx, m.names, 2) }); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	usage, err := m.processes.Usage()
	if err != nil {
		return err
	}
	result.Peak = usage.Peak
	if !c.orders {
		if result.Rest, err = m.rest(ctx); err != nil {
			return fmt.Errorf("rest: %w", err)
		}
		if result.Drift, err = m.drift(ctx); err != nil {
			return err
		}
		if result.Restart, err = m.restart(ctx); err != nil {
			return fmt.Errorf("restart: %w", err)
		}
	}
	if c.rules != "" {
		if result.Reload, err = m.reload(ctx, c.rules); err != nil {
			return fmt.Errorf("reload: %w", err)
		}
	}
	if result.Delete, err = m.step(ctx, driver.Gone(), func() error { return m.driver.Delete(ctx, m.names) }); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

func used(u process.Usage) report.Used { return report.Used{CPU: u.CPU, Peak: u.Peak} }

// names returns the names of n Foos.
func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("foo-%05d", i)
	}
	return all
}

// spread returns n of the names at equal distances, or all if there are fewer.
func spread(names []string, n int) []string {
	n = min(n, len(names))
	some := make([]string, n)
	for i := range some {
		some[i] = names[i*len(names)/n]
	}
	return some
}

// idle waits for the given time.
func idle(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
