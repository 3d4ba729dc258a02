//go:build integration

package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/gateway"
)

// unreachable is the metric that shows for how long a process cannot work.
const unreachable = "reconcel_api_unreachable_seconds"

// takeover is how long it takes until a process that can work leads instead of one that
// cannot.
const takeover = time.Minute

// replica is a process with a network of its own.
type replica struct {
	*e2e.Process
	gateway *gateway.Gateway
	proxy   *faultproxy.Proxy
}

// network returns a network, and a kubeconfig that uses it.
func (i *installation) network() (*replica, string) {
	i.Helper()
	r := &replica{proxy: faultproxy.Start(i.T, i.Cluster.UserConfig(i.T, e2e.User))}
	r.gateway = gateway.Start(i.T, &rest.Config{Host: r.proxy.URL()}, gateway.Options{})
	return r, r.gateway.Kubeconfig(i.T, nil)
}

// replica starts a process behind a network of its own, and waits for its log message.
func (i *installation) replica(name, says string) *replica {
	i.Helper()
	r, kubeconfig := i.network()
	r.Process = i.runs(name, kubeconfig, "--listen", "127.0.0.1:0")
	r.Logs(says, startup)
	return r
}

var listening = regexp.MustCompile(`msg=starting .*\blisten=(\S+)`)

// get returns the answer of an endpoint of a process.
func (r *replica) get(path string) (code int, body string, err error) {
	found := listening.FindStringSubmatch(r.Log())
	if found == nil {
		return 0, "", errors.New("the process has not said where it listens")
	}
	response, err := http.Get("http://" + found[1] + path) //nolint:noctx // The process answers, or ends.
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(text)), err
}

// unreachable returns the value of the metric.
func (r *replica) unreachable() (float64, error) {
	_, body, err := r.get("/metrics")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(line, unreachable+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", unreachable)
}

// healthy checks what the endpoints of a process that works say.
func (r *replica) healthy(t *testing.T) {
	t.Helper()
	if code, body, err := r.get("/readyz"); code != http.StatusOK || err != nil {
		t.Errorf("%s: /readyz is %d %q, %v", r.Name, code, body, err)
	}
	if value, err := r.unreachable(); value != 0 || err != nil {
		t.Errorf("%s: %s is %v, %v", r.Name, unreachable, value, err)
	}
}

// A disorder is what happens to all requests of a process except those for Leases.
type disorder struct {
	fault faultproxy.Fault
	why   *regexp.Regexp // what the process says
	renew bool           // instead, the server gets a certificate that the process does not trust, also for Leases
}

var disorders = map[string]disorder{
	"no identity": {
		fault: faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: http.StatusUnauthorized, Message: "Unauthorized"}},
		why:   regexp.MustCompile(`(?i)unauthorized`),
	},
	"no answers":     {fault: faultproxy.Fault{Effect: faultproxy.CutBefore}, why: regexp.MustCompile(`(?i)EOF|connection|stream error|INTERNAL_ERROR`)},
	"lost packets":   {fault: faultproxy.Fault{Effect: faultproxy.Blackhole}, why: regexp.MustCompile(`(?i)deadline|time(d )?out|no answer`)},
	"no certificate": {renew: true, why: regexp.MustCompile(`x509`)},
}

func notLease(r faultproxy.Request) bool { return r.Resource != "leases" }

// suffers breaks the network of a process, except for Leases, until lift is called.
func (r *replica) suffers(t *testing.T, d disorder, match func(faultproxy.Request) bool) (lift func()) {
	if d.renew {
		r.gateway.Renew(gateway.NewAuthority(t))
		r.gateway.Cut()
		return func() {}
	}
	requests := r.proxy.Inject(match, d.fault)
	if d.fault.Effect == faultproxy.Blackhole { // Open watches get nothing more, either.
		frames := r.proxy.InjectFrames(func(f faultproxy.Frame) bool { return match(f.Request) }, faultproxy.FrameFault{Effect: faultproxy.Silence})
		return func() { requests.Lift(); frames.Lift() }
	}
	r.gateway.Cut() // It ends the open watches.
	return requests.Lift
}

// TestUnableLeader breaks the network of a leader for everything but Leases. Another
// process that can work leads instead.
func TestUnableLeader(t *testing.T) {
	t.Parallel()
	for name, d := range disorders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			first := i.replica("first", "msg=running")
			second := i.replica("second", "standing by")
			i.change(promptly)
			first.healthy(t)
			second.healthy(t)

			broken := time.Now()
			first.suffers(t, d, notLease)
			i.edit()
			said, longest := first.complains(t)
			second.Logs("msg=running", time.Until(broken.Add(takeover)))
			led := time.Since(broken)
			i.follows(takeover - time.Since(broken))
			t.Logf("another process led after %s, and reconciled after %s", led.Round(100*time.Millisecond), time.Since(broken).Round(100*time.Millisecond))
			if err := first.Ends(time.Until(broken.Add(takeover))); err == nil {
				t.Error("the process that could not work ended as if it had been asked to")
			}
			if last := lastLines(first.Log(), 5); !d.why.MatchString(last) {
				t.Errorf("the last lines of the log do not say why, want %s:\n%s", d.why, last)
			}
			if !d.why.MatchString(said) {
				t.Errorf("/readyz did not say why before, want %s: %q", d.why, said)
			}
			if longest <= 0 {
				t.Errorf("%s was %v before", unreachable, longest)
			}
			i.change(promptly)
			second.healthy(t)
		})
	}
}

// complains waits until a process has ended, and returns what it said before.
func (r *replica) complains(t *testing.T) (readyz string, longest float64) {
	t.Helper()
	e2e.Poll(t, r.Name+" to end", takeover, 100*time.Millisecond, func() error {
		if code, body, err := r.get("/readyz"); err == nil && code != http.StatusOK {
			readyz = body
		}
		if value, err := r.unreachable(); err == nil {
			longest = max(longest, value)
		}
		if !r.Ended() {
			return errors.New("it runs")
		}
		return nil
	})
	return readyz, longest
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// TestForbiddenLeader takes the permission for one kind away. That is no reason to end: no
// other process could do more.
func TestForbiddenLeader(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	first := i.replica("first", "msg=running")
	i.replica("second", "standing by")
	i.change(promptly)
	holder := i.holder()
	lift := first.suffers(t, disorder{fault: faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: http.StatusForbidden}}},
		func(r faultproxy.Request) bool { return r.Resource == "deployments" })
	for until := time.Now().Add(40 * time.Second); time.Now().Before(until); i.Rest(time.Second) {
		if now := i.holder(); first.Ended() || now != holder {
			t.Fatalf("the leader has ended: %v, the Lease is held by %q instead of %q", first.Ended(), now, holder)
		}
	}
	if value, err := first.unreachable(); value != 0 || err != nil {
		t.Errorf("%s is %v, %v", unreachable, value, err)
	}
	lift()
	i.change(e2e.Patience)
}

// holder returns who holds the Lease.
func (i *installation) holder() string {
	i.Helper()
	lease := i.Get(e2e.GVK("coordination.k8s.io/v1", "Lease"), "reconcel")
	if lease == nil {
		return ""
	}
	spec, _ := lease.Object["spec"].(map[string]any)
	name, _ := spec["holderIdentity"].(string)
	return name
}
