//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/soak"
)

// outage is a way in which the API server goes away and comes back. It ends when the API
// server is ready.
type outage struct {
	name  string
	do    func(f *fleet, link *faultproxy.Link) error
	lists int // the number of kinds that must be listed again
	soak  int // the number of rounds of the long version
}

var outages = []outage{
	{name: "the API server restarts", soak: 10, do: func(f *fleet, _ *faultproxy.Link) error {
		return f.Cluster.Restart(devcluster.APIServer)
	}},
	{name: "the API server is killed", soak: 10, do: crashed(devcluster.APIServer, 3*time.Second)},
	{name: "etcd is killed", soak: 5, do: crashed(devcluster.Etcd, 8*time.Second)},
	{name: "the API server freezes", soak: 3, do: func(f *fleet, _ *faultproxy.Link) error {
		if err := f.Cluster.Pause(devcluster.APIServer); err != nil {
			return err
		}
		<-time.After(15 * time.Second)
		return f.Cluster.Resume(devcluster.APIServer)
	}},
	// The new API server no longer has the events since the version at which the watches
	// resume, as after a compaction.
	{name: "all watches are too old", soak: 5, lists: 3, do: func(f *fleet, link *faultproxy.Link) error {
		link.Hold(faultproxy.ToServer, faultproxy.ToClient)
		defer link.Cut()
		return f.Cluster.Restart(devcluster.APIServer)
	}},
	// Users edit children before the process sees the API server again.
	{name: "the API server is away for a minute", soak: 2, do: func(f *fleet, link *faultproxy.Link) error {
		if err := f.Cluster.Kill(devcluster.APIServer); err != nil {
			return err
		}
		<-time.After(time.Minute)
		link.Hold(faultproxy.ToServer, faultproxy.ToClient)
		defer link.Cut()
		if err := f.Cluster.Start(devcluster.APIServer); err != nil {
			return err
		}
		f.edit()
		return nil
	}},
}

// crashed is the outage of a component that is killed, and down for a while.
func crashed(component string, down time.Duration) func(*fleet, *faultproxy.Link) error {
	return func(f *fleet, _ *faultproxy.Link) error {
		if err := f.Cluster.Kill(component); err != nil {
			return err
		}
		<-time.After(down)
		return f.Cluster.Start(component)
	}
}

// TestOutages lets the API server and its storage go away while all primaries change. The rules are a Rules object.
func TestOutages(t *testing.T) {
	t.Parallel()
	random, size := chance(t), 100
	rounds := outages[1:2]
	if soak.Enabled() {
		size, rounds = 300, nil
		for _, o := range outages {
			for range o.soak {
				rounds = append(rounds, o)
			}
		}
		random.Shuffle(len(rounds), func(i, j int) { rounds[i], rounds[j] = rounds[j], rounds[i] })
	}
	cluster := devcluster.Start(t, fleetCluster)
	f := newFleet(t, cluster, size)
	f.object()
	link := faultproxy.Connect(t, cluster.UserKubeconfig(t, e2e.User))
	p := start(t, e2e.Build(t), "reconcel", "--rules-objects", "--kubeconfig", link.Kubeconfig(t),
		"--namespace", "default", "--listen", "off", "--leader-elect=false", "--log-level", "debug")
	p.Runs()
	children, reference := f.converges(e2e.Patience), f.reference()
	t.Logf("converged after %s without an outage", reference.Round(100*time.Millisecond))
	for _, o := range rounds {
		took := f.outlives(link, o, reference)
		t.Logf("%s: converged after %s", o.name, took.Round(100*time.Millisecond))
		f.judgeUIDs(children, f.converges(e2e.Patience))
	}
	if p.Ended() || p.Logged("panic") {
		t.Error("the process ended, or panicked")
	}
}

// outlives changes all Boxes around an outage, and returns how long after its end all
// were as wanted.
func (f *fleet) outlives(link *faultproxy.Link, o outage, reference time.Duration) time.Duration {
	f.Helper()
	began := time.Now()
	changed := make(chan struct{})
	go func() { defer close(changed); f.change() }()
	e2e.Poll(f.T, "some Boxes to be changed", e2e.Patience, time.Millisecond, func() error {
		if len(f.Requests(func(r devcluster.Request) bool {
			return r.Resource == "boxes" && r.Verb == "patch" && !r.Received.Before(began)
		})) < f.size/10 {
			return errors.New("too few")
		}
		return nil
	})
	if err := o.do(f, link); err != nil {
		f.Fatalf("%s: %v", o.name, err)
	}
	ended := time.Now()
	<-changed
	f.converges(reference + maxReturn)
	took := time.Since(ended)
	if took > reference+maxReturn {
		f.Errorf("%s: converged %s after its end, and without an outage after %s", o.name, took, reference)
	}
	// All objects can be as wanted before the last watch is back.
	e2e.Poll(f.T, fmt.Sprintf("%d kinds to be listed after %s", o.lists, o.name), maxReturn, time.Second, func() error {
		if lists := f.lists(began, time.Now(), fullList); len(lists) < o.lists {
			return fmt.Errorf("only %v", lists)
		}
		return nil
	})
	f.judgeLists(began, time.Now())
	e2e.Poll(f.T, "the status of the rules to be written", maxReturn, time.Second, func() error {
		if written := f.Writes(time.Now().Add(-3 * time.Second)); len(written) > 0 {
			return fmt.Errorf("it is still writing %v", devcluster.Tally(written))
		}
		return f.isActive()
	})
	f.Quiet(time.Second)
	return took
}
