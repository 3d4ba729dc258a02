//go:build integration

package campaign

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/soak"
)

// overload is how an API server rejects requests for a while.
type overload struct {
	name   string
	answer faultproxy.Answer
	match  func(faultproxy.Request) bool
	least  func(boxes int, lasts time.Duration) int // requests that must be rejected, or the test shows nothing
}

var overloads = []overload{
	{"429 to writes", faultproxy.Answer{Code: 429, RetryAfter: 1}, faultproxy.Request.IsWrite, eachTenthBox},
	{"500 to writes", faultproxy.Answer{Code: 500, Body: faultproxy.WithoutReason, Message: "etcdserver: request timed out"}, faultproxy.Request.IsWrite, eachTenthBox},
	{"503 to writes", faultproxy.Answer{Code: 503, Body: faultproxy.PlainText}, faultproxy.Request.IsWrite, eachTenthBox},
	{"502 with an id to writes", faultproxy.Answer{Code: 502, Body: faultproxy.WithID}, faultproxy.Request.IsWrite, eachTenthBox},
	{"429 to all but Leases", faultproxy.Answer{Code: 429, RetryAfter: 1}, isNotLease, eachSecond},
}

func isNotLease(r faultproxy.Request) bool { return r.Resource != "leases" }

func eachTenthBox(boxes int, _ time.Duration) int { return boxes / 10 }

// eachSecond is for outages that end the watches: there is nothing to write, and each
// watch is requested again after a second.
func eachSecond(_ int, lasts time.Duration) int { return int(lasts.Seconds()) }

const (
	// maxReturn is how much longer than without an outage it may take after one until all
	// are as wanted.
	maxReturn = time.Minute
	// setupPatience is how long all may take without an outage. It depends on the machine.
	setupPatience = 10 * time.Minute
	// maxLists is how often a kind may be listed for one outage.
	maxLists = 2
	// maxAttempts is how often an object may be written in a minute of failure.
	maxAttempts = 15
)

// TestOverload rejects all writes of many changed primaries. Lease requests pass.
func TestOverload(t *testing.T) {
	t.Parallel()
	size, lasts, all := 100, 4*time.Second, overloads[:1]
	if soak.Enabled() {
		size, lasts, all = 2000, time.Minute, overloads
	}
	cluster := devcluster.Start(t, fleetCluster)
	f := newFleet(t, cluster, size)
	proxy := faultproxy.Start(t, cluster.UserConfig(t, e2e.User))
	p := start(t, e2e.Build(t), "reconcel", "-f", write(t, filepath.Join(t.TempDir(), "rules.yaml"), fleetRules),
		"--kubeconfig", proxy.Kubeconfig(t), "--namespace", "default", "--listen", "off")
	p.Runs()
	children := f.converges(setupPatience)
	for _, o := range all {
		t.Run(o.name, func(t *testing.T) {
			round := &fleet{World: f.Within(t), size: f.size, value: f.value}
			round.survives(p, proxy, o, lasts)
			round.judgeUIDs(children, round.converges(e2e.Patience))
			f.value = round.value
		})
	}
}

// survives overloads the API server, and changes all Boxes meanwhile.
func (f *fleet) survives(p *process, proxy *faultproxy.Proxy, o overload, lasts time.Duration) {
	f.Helper()
	reference := f.reference()
	lease := f.holder()
	a := &attempts{counts: map[string]int{}}
	proxy.OnWrite(a.note)
	began := time.Now()
	injected := proxy.Inject(o.match, faultproxy.Fault{Effect: faultproxy.Reply, Answer: o.answer})
	cut := proxy.InjectFrames(func(frame faultproxy.Frame) bool { return o.match(frame.Request) }, faultproxy.FrameFault{Effect: faultproxy.Cut})
	f.change()
	e2e.Rest(f.T, time.Until(began.Add(lasts)))
	highest, object := a.highest()
	cut.Lift()
	injected.Lift()
	ended := time.Now()
	f.converges(reference + maxReturn)
	took := time.Since(ended)
	hits, _ := injected.Hits()
	lists := f.judgeLists(began, time.Now())
	f.Logf("%s for %s: %d requests rejected, %d attempts to write %s, converged %s after it ended (without a fault %s), lists %v",
		o.name, ended.Sub(began).Round(time.Second), hits, highest, object, took.Round(100*time.Millisecond), reference.Round(100*time.Millisecond), lists)

	if minutes := max(1, ended.Sub(began).Minutes()); hits < o.least(f.size, lasts) || float64(highest) > maxAttempts*minutes {
		f.Errorf("%d requests were rejected, and %s was written %d times in %.1f minutes, want at most %d in a minute", hits, object, highest, minutes, maxAttempts)
	}
	if now := f.holder(); p.Ended() || now != lease {
		f.Errorf("the Lease was held by %s, and is held by %s", lease, now)
	}
	f.Quiet(time.Second)
}

// reference returns how long all Boxes take to be as wanted after a change without a
// fault. It depends on the machine.
func (f *fleet) reference() time.Duration {
	f.Helper()
	began := time.Now()
	f.change()
	f.converges(setupPatience)
	return time.Since(began)
}

// attempts counts the writes that a process sends, by object.
type attempts struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *attempts) note(w faultproxy.Write) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !w.Committed {
		a.counts[w.String()]++
	}
	return true
}

// highest returns the largest count, and its object.
func (a *attempts) highest() (most int, object string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for what, n := range a.counts {
		if n > most {
			most, object = n, what
		}
	}
	return most, object
}

// holder returns who holds the Lease, and how often the holder has changed.
func (f *fleet) holder() string {
	f.Helper()
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	u, err := f.Client.Resource(leases).Namespace("default").Get(f.Context(), "reconcel", metav1.GetOptions{})
	if err != nil {
		f.Fatal(err)
	}
	holder, _, _ := unstructured.NestedString(u.Object, "spec", "holderIdentity")
	transitions, _, _ := unstructured.NestedInt64(u.Object, "spec", "leaseTransitions")
	return fmt.Sprintf("%s, after %d others", holder, transitions)
}

// judgeLists checks how often reconcel listed each resource in a period, and returns
// the counts.
func (f *fleet) judgeLists(from, to time.Time) map[string]int {
	f.Helper()
	lists := f.lists(from, to, anyList)
	for resource, n := range lists {
		if n > maxLists {
			f.Errorf("%d times %s, want at most %d", n, resource, maxLists)
		}
	}
	return lists
}

// anyList matches all lists, also those of one object, which only tell the version.
func anyList(devcluster.Request) bool { return true }

func fullList(r devcluster.Request) bool { return !strings.Contains(r.URI+"&", "limit=1&") }

// lists returns how often reconcel listed each resource in a period. A watch that begins
// with all objects is a list, too.
func (f *fleet) lists(from, to time.Time, match func(devcluster.Request) bool) map[string]int {
	f.Helper()
	return devcluster.Tally(f.Requests(func(r devcluster.Request) bool {
		initial := r.Verb == "watch" && strings.Contains(r.URI, "sendInitialEvents=true")
		return r.User == e2e.User && r.Code == 200 && r.Between(from, to) && (r.Verb == "list" || initial) && match(r)
	}))
}
