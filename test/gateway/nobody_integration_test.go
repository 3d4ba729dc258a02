//go:build integration

package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// TestNobodyIsAble breaks the network of all processes, which start again when they end,
// as Pods do.
func TestNobodyIsAble(t *testing.T) {
	t.Parallel()
	for name, d := range disorders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d.renew {
				t.Skip("no process holds the Lease in this case")
			}
			if name != "no identity" && !soak.Enabled() {
				t.Skip("make soak-credentials runs it")
			}
			i := newInstallation(t)
			network, kubeconfig := i.network()
			pods := []*pod{{name: "first"}, {name: "second"}}
			for n, p := range pods {
				p.run(i, kubeconfig)
				p.Logs([]string{"msg=running", "standing by"}[n], startup)
			}
			i.change(promptly)
			lift := network.suffers(t, d, notLease)
			i.edit()
			during := 90 * time.Second
			if soak.Enabled() {
				during = 5 * time.Minute
			}
			holders := i.observe(pods, kubeconfig, time.Now().Add(during))
			t.Logf("the Lease was held by %d processes in %s, which were started %d times: %v", len(holders), during, pods[0].starts+pods[1].starts, holders)
			if allowed := 1 + int(2*during/time.Minute); len(holders) > allowed {
				t.Errorf("the Lease changed hands %d times in %s", len(holders)-1, during)
			}
			lift()
			recovered := time.Now()
			e2e.Eventually(t, "the change to be reconciled", takeover, func() error {
				for _, p := range pods {
					p.restarts(i, kubeconfig)
				}
				return i.reconciled()
			})
			t.Logf("reconciled %s after the network had recovered", time.Since(recovered).Round(100*time.Millisecond))
		})
	}
}

// observe returns who held the Lease until an instant, and restarts processes.
func (i *installation) observe(pods []*pod, kubeconfig string, until time.Time) (holders []string) {
	i.Helper()
	for ; time.Now().Before(until); i.Rest(100 * time.Millisecond) {
		for _, p := range pods {
			p.restarts(i, kubeconfig)
		}
		if now := i.holder(); now != "" && (len(holders) == 0 || holders[len(holders)-1] != now) {
			holders = append(holders, now)
		}
	}
	return holders
}

// pod is a process that starts again 10 seconds after it has ended, as the kubelet
// restarts a container for the first time.
type pod struct {
	*e2e.Process
	name   string
	starts int
	ended  time.Time
}

func (p *pod) run(i *installation, kubeconfig string) {
	i.Helper()
	p.starts++
	p.ended = time.Time{}
	p.Process = i.runs(fmt.Sprintf("%s-%d", p.name, p.starts), kubeconfig, "--listen", "off")
}

func (p *pod) restarts(i *installation, kubeconfig string) {
	i.Helper()
	switch {
	case !p.Ended():
	case p.ended.IsZero():
		p.ended = time.Now()
	case time.Since(p.ended) > 10*time.Second:
		p.run(i, kubeconfig)
	}
}
