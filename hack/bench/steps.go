package main

import (
	"context"
	"fmt"
	"time"

	"reconcel/hack/bench/driver"
	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

// warmUp creates and deletes one Foo, so that what happens once only is not measured with
// the first step. It returns the peak of the memory.
func (m *measurement) warmUp(ctx context.Context) (peak int64, err error) {
	one := []string{"warm-up"}
	ready := m.driver.Expect(one, driver.Scaled(1))
	if err := m.driver.Create(ctx, one, 1); err != nil {
		return 0, err
	}
	if _, err := ready.Until(ctx); err != nil {
		return 0, err
	}
	gone := m.driver.Expect(one, driver.Gone())
	if err := m.driver.Delete(ctx, one); err != nil {
		return 0, err
	}
	if _, err := gone.Until(ctx); err != nil {
		return 0, err
	}
	if err := m.settle(ctx); err != nil {
		return 0, err
	}
	usage, err := m.processes.Usage()
	return usage.Peak, err
}

// step changes all Foos, and measures until the competitor rests again.
func (m *measurement) step(ctx context.Context, goal driver.Goal, change func() error) (report.Step, error) {
	before, err := m.processes.Usage()
	if err != nil {
		return report.Step{}, err
	}
	servers, err := m.servers()
	if err != nil {
		return report.Step{}, err
	}
	started := time.Now()
	wait := m.driver.Expect(m.names, goal)
	if err := change(); err != nil {
		return report.Step{}, err
	}
	reached, err := wait.Until(ctx)
	if err != nil {
		return report.Step{}, err
	}
	if err := m.settle(ctx); err != nil {
		return report.Step{}, err
	}
	after, err := m.processes.Usage()
	if err != nil {
		return report.Step{}, err
	}
	serversAfter, err := m.servers()
	if err != nil {
		return report.Step{}, err
	}
	requests, err := m.requests(started, time.Now())
	if err != nil {
		return report.Step{}, err
	}
	step := report.Step{
		Children: reached.Children.Sub(started), Statuses: reached.Statuses.Sub(started),
		CPU: after.CPU - before.CPU, Servers: serversAfter - servers, Requests: map[string]int{},
	}
	for _, r := range requests {
		step.Requests[requestName(r)]++
		switch {
		case isEvent(r):
			step.Events++
		case r.IsWrite():
			step.Writes++
		}
	}
	return step, nil
}

// servers returns the CPU time of the API server and etcd since they started.
func (m *measurement) servers() (time.Duration, error) {
	load, err := loadOf(m.cluster)
	return load.cpu(), err
}

// requests returns the requests of the competitor that the server received in [from, to).
func (m *measurement) requests(from, to time.Time) ([]devcluster.Request, error) {
	return m.cluster.Requests(func(r devcluster.Request) bool { return r.User == user && r.Between(from, to) })
}

// requestName names a request by verb and resource. Requests for no resource are those of
// discovery and schemas, whose addresses differ from server to server.
func requestName(r devcluster.Request) string {
	if r.Resource == "" {
		return r.Verb + " discovery"
	}
	return r.String()
}

func isEvent(r devcluster.Request) bool { return r.IsWrite() && r.Resource == "events" }

// A competitor rests when it has used at most 10 ms of CPU time in a second.
const (
	settledFor  = time.Second
	settledCPU  = 10 * time.Millisecond
	settleLimit = 30 * time.Minute
)

// settle waits until the competitor rests.
func (m *measurement) settle(ctx context.Context) error { return settle(ctx, m.processes) }

// settle waits until processes rest. It fails if that takes more than half an hour: after a
// restart, some competitors write all objects again.
func settle(ctx context.Context, processes process.Group) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("the process still works after %s", settleLimit))
	defer cancel()
	for {
		before, err := processes.Usage()
		if err != nil {
			return err
		}
		if err := idle(ctx, settledFor); err != nil {
			return err
		}
		after, err := processes.Usage()
		if err != nil || after.CPU-before.CPU <= settledCPU {
			return err
		}
	}
}

// restPeriod is how long the cost at rest is measured.
const restPeriod = 20 * time.Second

// rest measures what the competitor does while nothing happens.
func (m *measurement) rest(ctx context.Context) (*report.Rest, error) {
	before, err := m.processes.Usage()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	if err := idle(ctx, restPeriod); err != nil {
		return nil, err
	}
	after, err := m.processes.Usage()
	if err != nil {
		return nil, err
	}
	requests, err := m.requests(started, time.Now())
	if err != nil {
		return nil, err
	}
	result := &report.Rest{Duration: restPeriod, CPU: after.CPU - before.CPU, Requests: len(requests)}
	for _, r := range requests {
		if r.IsWrite() {
			result.Writes++
		}
	}
	return result, nil
}

// drifts is how many Deployments another writer changes, one after the other.
const drifts = 200

// drift measures how long repairs take.
func (m *measurement) drift(ctx context.Context) ([]time.Duration, error) {
	var repairs []time.Duration
	for _, name := range spread(m.names, drifts) {
		took, err := m.driver.Drift(ctx, name)
		if err != nil {
			return nil, err
		}
		repairs = append(repairs, took)
	}
	return repairs, m.settle(ctx)
}

// probes is how many Foos change while the competitor does not run.
const probes = 10

// restart measures the start over objects that are as wanted, except for the probes: the
// competitor is ready when these are as wanted too.
func (m *measurement) restart(ctx context.Context) (*report.Restart, error) {
	m.processes.Stop(ctx)
	changed := spread(m.names, probes)
	if err := m.driver.Scale(ctx, changed, 3); err != nil {
		return nil, err
	}
	wait := m.driver.Expect(changed, driver.Scaled(3))
	started := time.Now()
	next, err := process.StartGroup(m.commands, m.died)
	if err != nil {
		return nil, err
	}
	m.processes = next
	reached, err := wait.Until(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.settle(ctx); err != nil {
		return nil, err
	}
	requests, err := m.requests(started, time.Now())
	if err != nil {
		return nil, err
	}
	isProbe := map[string]bool{}
	for _, name := range changed {
		isProbe[name] = true
	}
	result := &report.Restart{Ready: reached.Children.Sub(started)}
	for _, r := range requests {
		if r.IsWrite() && !isEvent(r) && !isProbe[r.Name] {
			result.Writes++
		}
	}
	return result, nil
}

// reload changes the image in the rules, and measures until Deployments have it.
func (m *measurement) reload(ctx context.Context, rules string) (*report.Reload, error) {
	wait := m.driver.Expect(m.names, driver.Runs(secondImage))
	started := time.Now()
	if err := writeRules(rules, secondImage, 1); err != nil {
		return nil, err
	}
	reached, err := wait.Until(ctx)
	if err != nil {
		return nil, err
	}
	return &report.Reload{First: reached.First.Sub(started), All: reached.Children.Sub(started)}, m.settle(ctx)
}
