package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"

	"reconcel/hack/bench/driver"
	"reconcel/hack/bench/meter"
	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// install measures installations side by side, each with a namespace of its own, and one process
// for all namespaces.
func install(ctx context.Context, o options, c competitor, folder string) error {
	var all []report.Arrangement
	var version string
	for _, n := range o.ns {
		for _, processes := range []int{1, o.installations} {
			arrangement := report.Arrangement{N: n, Namespaces: o.installations}
			var err error
			version, err = onCluster(ctx, c.crds, func(cluster *devcluster.Cluster) error {
				if err := writeRules(c.rules, firstImage, 1); err != nil {
					return err
				}
				s := &site{cluster: cluster, folder: folder, names: names(n / o.installations)}
				return s.measure(ctx, c, processes, &arrangement)
			})
			if err != nil {
				return fmt.Errorf("%d Foos with %d processes: %w", n, processes, err)
			}
			all = append(all, arrangement)
			say("%d Foos in %d namespaces: create %.1f s, update %.1f s", n, o.installations,
				arrangement.Create.Seconds(), arrangement.Update.Seconds())
			for i, p := range arrangement.Processes {
				say("  process %d of %d: %s, watches %.1f MB", i+1, processes, p.Used, float64(p.Watched)/1e6)
			}
		}
	}
	flags := fmt.Sprintf("-installations %d -n %s", o.installations, list(o.ns))
	content := conditions(version, flags) + report.ArrangementTable(all)
	return publish(o.page, "installations", content, func(string) (string, error) { return "", nil })
}

// site is a control plane with a driver for each namespace, and some processes of reconcel.
type site struct {
	cluster *devcluster.Cluster
	folder  string
	names   []string // of the Foos in each namespace

	drivers   []*driver.Driver
	meters    []*meter.Meter
	processes process.Group
}

// measure creates and then changes all Foos.
func (s *site) measure(ctx context.Context, c competitor, processes int, a *report.Arrangement) error {
	namespaces := make([]string, a.Namespaces)
	for i := range namespaces {
		namespaces[i] = fmt.Sprintf("team-%d", i)
		if _, err := s.cluster.Kubectl("create", "namespace", namespaces[i]); err != nil {
			return err
		}
	}
	ctx, died := context.WithCancelCause(ctx)
	defer died(nil)
	defer s.stop(context.WithoutCancel(ctx))
	for i := range processes {
		extra := []string{}
		if processes > 1 {
			extra = append(extra, "--name="+namespaces[i], "--namespaced="+namespaces[i])
		}
		if err := s.start(c, fmt.Sprintf("%s-%d", c.name, i), extra, died); err != nil {
			return err
		}
	}
	for _, namespace := range namespaces {
		d, err := driver.New(s.cluster.Config(), namespace, nil)
		if err != nil {
			return err
		}
		next, stop, err := d.Start(ctx)
		if err != nil {
			return err
		}
		defer stop()
		ctx, s.drivers = next, append(s.drivers, d)
	}
	return s.steps(ctx, a)
}

// start starts a process of reconcel behind a meter.
func (s *site) start(c competitor, name string, extra []string, died func(error)) error {
	kubeconfig, err := s.cluster.KubeconfigOf(user)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	m, err := meter.Start(config)
	if err != nil {
		return err
	}
	s.meters = append(s.meters, m)
	metered := filepath.Join(s.folder, name+".kubeconfig")
	if err := m.WriteKubeconfig(metered); err != nil {
		return err
	}
	command := process.Command{
		Binary: c.binary, Args: slices.Concat(c.args, extra, []string{"--kubeconfig=" + metered}),
		Log: filepath.Join(s.folder, name+".log"),
	}
	p, err := command.Start(died)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	return nil
}

// stop stops the processes, and then the meters that they use.
func (s *site) stop(ctx context.Context) {
	s.processes.Stop(ctx)
	for _, m := range s.meters {
		m.Stop()
	}
}

// steps creates and changes the Foos of all namespaces at the same time.
func (s *site) steps(ctx context.Context, a *report.Arrangement) error {
	if err := settle(ctx, s.processes); err != nil {
		return err
	}
	before, err := loadOf(s.cluster)
	if err != nil {
		return err
	}
	started := time.Now()
	create := func(d *driver.Driver) error { return d.Create(ctx, s.names, 1) }
	if err := s.each(ctx, driver.Scaled(1), create); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	created := time.Now()
	update := func(d *driver.Driver) error { return d.Scale(ctx, s.names, 2) }
	if err := s.each(ctx, driver.Scaled(2), update); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	a.Create, a.Update = created.Sub(started), time.Since(created)
	if err := settle(ctx, s.processes); err != nil {
		return err
	}
	after, err := loadOf(s.cluster)
	if err != nil {
		return err
	}
	a.Servers = after.cpu() - before.cpu()
	for i, p := range s.processes {
		usage, err := p.Usage()
		if err != nil {
			return err
		}
		a.Processes = append(a.Processes, report.Installed{Used: used(usage), Watched: s.meters[i].Watched()})
	}
	return nil
}

// each has all drivers make a change, and waits until all their Foos are as wanted.
func (s *site) each(ctx context.Context, goal driver.Goal, change func(*driver.Driver) error) error {
	var group errgroup.Group
	for _, d := range s.drivers {
		group.Go(func() error {
			wait := d.Expect(s.names, goal)
			if err := change(d); err != nil {
				return err
			}
			_, err := wait.Until(ctx)
			return err
		})
	}
	return group.Wait()
}
