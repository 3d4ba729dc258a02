//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"path/filepath"
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
	do    func(c *devcluster.Cluster, link *faultproxy.Link) error
	lists int // the number of kinds that must be listed again
	soak  int // the number of rounds of the long version
}

var outages = []outage{
	{name: "the API server restarts", soak: 10, do: func(c *devcluster.Cluster, _ *faultproxy.Link) error {
		return c.Restart(devcluster.APIServer)
	}},
	{name: "the API server is killed", soak: 10, do: crashed(devcluster.APIServer, 3*time.Second)},
	{name: "etcd is killed", soak: 5, do: crashed(devcluster.Etcd, 8*time.Second)},
	{name: "the API server freezes", soak: 3, do: func(c *devcluster.Cluster, _ *faultproxy.Link) error {
		if err := c.Pause(devcluster.APIServer); err != nil {
			return err
		}
		<-time.After(15 * time.Second)
		return c.Resume(devcluster.APIServer)
	}},
	// The new API server no longer has the events since the version at which the watches
	// resume, as after a compaction.
	{name: "all watches are too old", soak: 5, lists: 2, do: func(c *devcluster.Cluster, link *faultproxy.Link) error {
		link.Hold(faultproxy.ToServer, faultproxy.ToClient)
		defer link.Cut()
		return c.Restart(devcluster.APIServer)
	}},
}

// crashed is the outage of a component that is killed, and down for a while.
func crashed(component string, down time.Duration) func(*devcluster.Cluster, *faultproxy.Link) error {
	return func(c *devcluster.Cluster, _ *faultproxy.Link) error {
		if err := c.Kill(component); err != nil {
			return err
		}
		<-time.After(down)
		return c.Start(component)
	}
}

// TestOutages lets the API server and its storage go away while all primaries change.
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
	link := faultproxy.Connect(t, cluster.UserKubeconfig(t, e2e.User))
	p := start(t, e2e.Build(t), "reconcel", "-f", write(t, filepath.Join(t.TempDir(), "rules.yaml"), fleetRules),
		"--kubeconfig", link.Kubeconfig(t), "--namespace", "default", "--listen", "off", "--leader-elect=false", "--log-level", "debug")
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
	if err := o.do(f.Cluster, link); err != nil {
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
	f.Quiet(time.Second)
	return took
}
