//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/soak"
)

// blow is a way in which a leader loses leadership.
type blow string

// Three blows cut a leader off. The second of them passes its requests but not the
// answers. The third delivers its last requests when it is dead and another process
// leads.
const (
	terminated blow = "terminated"
	killed     blow = "killed"
	stopped    blow = "stopped"
	cutOff     blow = "cut off"
	unanswered blow = "unanswered"
	late       blow = "late"
)

// limit is the time within which another process must write.
func (b blow) limit() time.Duration {
	if b == terminated {
		return 3 * time.Second
	}
	return 18 * time.Second
}

// candidate is a process that competes for leadership, with its own user and its own
// network link.
type candidate struct {
	*process
	link *faultproxy.Link
}

// term is how a candidate lost leadership.
type term struct {
	user string
	by   blow
	at   time.Time // time of the blow
	back time.Time // time from which its unsent requests could be sent again
}

// contest always has three candidates.
type contest struct {
	*testing.T
	cluster    *devcluster.Cluster
	binary     string
	rules      string
	users      []string // not yet used by a candidate
	candidates []*candidate
	terms      []term
}

// TestLead strikes one leader after another, while primaries are constantly created and
// changed. RECONCEL_BLOW selects one blow.
func TestLead(t *testing.T) {
	t.Parallel()
	random := chance(t)
	blows := []blow{terminated, cutOff}
	if soak.Enabled() {
		blows = nil
		for i := range 50 {
			blows = append(blows, []blow{terminated, killed, stopped, cutOff, unanswered, late}[i%6])
		}
		random.Shuffle(len(blows), func(i, j int) { blows[i], blows[j] = blows[j], blows[i] })
	}
	if only := os.Getenv("RECONCEL_BLOW"); only != "" {
		blows = []blow{blow(only)}
	}
	c := newContest(t, len(blows)+3)
	load := startLoad(t, c.cluster, random)
	for i, b := range blows {
		c.strike(i, b, random)
	}
	load.stop()
	load.converges()
	c.judge(load)
}

// leadRules are for primaries with one child of a fixed name, and several identical ones.
const leadRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: item
  for: {apiVersion: campaign.reconcel.dev/v1, kind: Item}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-config", labels: {item: "${self.metadata.name}"}}
      data: {value: "${string(self.spec.value)}"}
  - id: copies
    replicas: self.spec.replicas
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {generateName: "${self.metadata.name}-", labels: {item: "${self.metadata.name}", copy: "true"}}
`

func newContest(t *testing.T, processes int) *contest {
	t.Helper()
	c := &contest{T: t, binary: e2e.Build(t), rules: write(t, filepath.Join(t.TempDir(), "rules.yaml"), leadRules)}
	var groups []string
	for i := range processes {
		c.users = append(c.users, fmt.Sprintf("candidate-%d", i+1))
		groups = append(groups, c.users[i]+":system:masters")
	}
	c.cluster = devcluster.Start(t, devcluster.Options{Users: groups})
	establish(t, c.cluster, "Item")
	c.stand("msg=running")
	c.stand("standing by")
	c.stand("standing by")
	return c
}

// stand starts another candidate, and waits for its log message.
func (c *contest) stand(says string) {
	c.Helper()
	user := c.users[0]
	c.users = c.users[1:]
	link := faultproxy.Connect(c, c.cluster.UserKubeconfig(c.T, user))
	p := start(c.T, c.binary, user, "-f", c.rules, "--kubeconfig", link.Kubeconfig(c), "--listen", "off", "--namespace", "default")
	p.Logs(says, 30*time.Second)
	c.candidates = append(c.candidates, &candidate{process: p, link: link})
}

func (c *contest) leader(within time.Duration) (leader *candidate) {
	c.Helper()
	e2e.Eventually(c.T, "a process to lead", within, func() error {
		for _, one := range c.candidates {
			if one.Logged("msg=running") {
				leader = one
				return nil
			}
		}
		return errors.New("no process leads")
	})
	return leader
}

// strike ends the leadership of the leader, and starts another candidate instead.
func (c *contest) strike(round int, by blow, random *rand.Rand) {
	c.Helper()
	leader := c.leader(10 * time.Second)
	e2e.Eventually(c.T, leader.Name+" to write", 20*time.Second, func() error {
		if len(c.writes(leader.Name)) == 0 {
			return errors.New("it has not yet")
		}
		return nil
	})
	e2e.Rest(c.T, time.Duration(random.IntN(1500))*time.Millisecond)
	c.candidates = slices.DeleteFunc(c.candidates, func(one *candidate) bool { return one == leader })

	lost := term{user: leader.Name, by: by, at: time.Now()}
	switch by {
	case terminated:
		leader.Signal(syscall.SIGTERM)
	case killed:
		leader.Signal(syscall.SIGKILL)
	case stopped:
		leader.Signal(syscall.SIGSTOP)
	case cutOff:
		leader.link.Hold(faultproxy.ToServer, faultproxy.ToClient)
	case unanswered:
		leader.link.Hold(faultproxy.ToClient)
	case late:
		leader.link.Hold(faultproxy.ToServer)
		e2e.Rest(c.T, time.Second) // It continues to send requests.
		leader.Signal(syscall.SIGKILL)
	}
	next := c.leader(40 * time.Second)
	c.Logf("round %d: %s was %s, and %s leads after %s", round+1, leader.Name, by, next.Name, time.Since(lost.at).Round(10*time.Millisecond))
	lost.back = time.Now()
	c.recover(leader, by)
	c.terms = append(c.terms, lost)
	c.stand("standing by")
}

// recover releases what the blow held, and checks that the former leader exits.
func (c *contest) recover(leader *candidate, by blow) {
	c.Helper()
	switch by {
	case terminated:
		if err := leader.Ends(10 * time.Second); err != nil {
			c.Errorf("%s was asked to stop, and ended with %v", leader.Name, err)
		}
		if leader.Logged("must not write") {
			c.Errorf("%s gave the Lease back before its last write", leader.Name)
		}
	case killed:
		_ = leader.Ends(time.Second)
	case late:
		leader.link.Release()
	case stopped, cutOff, unanswered:
		if by == stopped {
			leader.Signal(syscall.SIGCONT)
		}
		// A process that is cut off has exited long before the network recovers.
		for deadline := time.Now().Add(2 * time.Second); !leader.Ended() && time.Now().Before(deadline); {
			e2e.Rest(c.T, 20*time.Millisecond)
		}
		switch {
		case !leader.Ended():
			c.Errorf("%s lost the lead, and has not ended", leader.Name)
		case leader.Ends(time.Second) == nil:
			c.Errorf("%s lost the lead, and ended as if it had been asked to", leader.Name)
		}
		leader.link.Cut()
	}
}
