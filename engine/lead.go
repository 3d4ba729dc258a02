package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Leadership lets several processes stand by while one works. All of them watch
// and follow the rules, so that the next one is at work at once; only the one
// that holds the Lease <Options.Name> in Options.Namespace writes.
//
// A leader that could not renew the Lease in time writes nothing more, not even
// if it was stopped meanwhile and knows nothing of it: each write is held
// against the time of the last renewal. It does not stand again either, since
// its caches may be from another age; the process is to end.
type Leadership struct {
	Identity string // of this process among the others
	// Lost is called once when this process must not write any more though nobody
	// has asked it to stop. It is to end the process at once.
	Lost func(error)
}

// Times of the Lease. The first two are those of Kubernetes' own controllers.
// Those who stand by look for it after 1 to 2.2 retry periods, and count from
// when they have seen the last renewal: so a leader that is killed is replaced
// within 15 s and two looks, which are 17.2 s, and one that gives the Lease back
// within one look.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// A term is the time in which this process may write.
type term struct {
	renewed  atomic.Pointer[time.Time] // when the renewal was sent that succeeded last; nil: it never led
	resigned atomic.Bool               // the Lease is being given back, or has been
	lost     func(error)
}

var errNotLeading = errors.New("this process is not the leader and must not write")

// renew notes a renewal that was sent at a time.
func (t *term) renew(at time.Time) { t.renewed.Store(&at) }

// holds reports whether this process may write.
func (t *term) holds() bool { return !t.resigned.Load() && t.sure() }

// sure reports whether nobody else can have the Lease. Both clocks have to say
// so: the monotonic one stands still while a machine sleeps.
func (t *term) sure() bool {
	at := t.renewed.Load()
	if at == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*at) < renewDeadline && now.Round(0).Sub(at.Round(0)) < renewDeadline
}

// check returns an error if nothing may be written now, and tells when that is
// the end of a term.
func (t *term) check() error {
	switch {
	case t.holds():
		return nil
	case t.renewed.Load() != nil && !t.resigned.Load():
		t.lost(fmt.Errorf("the Lease was not renewed within %s", renewDeadline))
	}
	return errNotLeading
}

// guard makes clients of a configuration write only during the term.
func (t *term) guard(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return guarded{next, t} })
	return config
}

// guarded is a way to the API server that only a leader may write on.
type guarded struct {
	http.RoundTripper
	term *term
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := g.term.check(); err != nil {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, err
		}
	}
	return g.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper lets client-go see what is below.
func (g guarded) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }

// A lease is the Lease, with its renewals noted. The time is that before the
// request: the others count from when it is served.
type lease struct {
	resourcelock.Interface
	term    *term
	trouble *leaseTrouble
	notice  *leaseNotice
}

// Get implements resourcelock.Interface.
func (l lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if l.trouble.note(reading, err); err == nil {
		l.notice.note(record)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	at := time.Now()
	return l.note(at, r, l.Interface.Create(ctx, r))
}

// Update implements resourcelock.Interface.
func (l lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity != l.Identity() { // It is about to be given back.
		// The library would do so even where another holds it by now, whose lead
		// would then end without his knowing.
		if !l.term.sure() {
			return errNotLeading
		}
		l.term.resigned.Store(true)
	}
	at := time.Now()
	return l.note(at, r, l.Interface.Update(ctx, r))
}

func (l lease) note(at time.Time, r resourcelock.LeaderElectionRecord, err error) error {
	l.trouble.note(writing, err)
	if err == nil && r.HolderIdentity == l.Identity() {
		l.term.renew(at)
	}
	return err
}

// A candidate stands for the Lease.
type candidate struct {
	elector *leaderelection.LeaderElector
	lock    lease
	term    *term
	trouble *leaseTrouble
	won     chan struct{} // closed when it leads
}

// newCandidate makes a candidate with a client of its own, so that no other
// request holds a renewal up.
func newCandidate(options Options) (*candidate, error) {
	config := rest.CopyConfig(options.Config)
	config.Timeout = renewDeadline / 2
	config.QPS, config.RateLimiter = -1, nil
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	c := &candidate{won: make(chan struct{}), trouble: &leaseTrouble{log: options.Log}, term: &term{lost: func(err error) { once.Do(func() { options.Leadership.Lost(err) }) }}}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: options.Namespace, Name: options.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: options.Leadership.Identity},
	}
	c.lock = lease{lock, c.term, c.trouble, &leaseNotice{log: options.Log, lease: options.Namespace + "/" + options.Name, identity: options.Leadership.Identity}}
	c.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, Name: options.Name, ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.won) },
			OnStoppedLeading: func() {},
		},
	})
	return c, err
}

// stand stands for the Lease until resign is called, which gives it back. It
// goes on beyond the end of ctx, so that writes that are under way then end
// first.
func (c *candidate) stand(ctx context.Context) (resign func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		c.elector.Run(ctx)
		if ctx.Err() == nil {
			c.term.lost(errors.New("the Lease was not renewed in time, or another process holds it"))
		}
	})
	running.Go(func() { c.watch(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// watch notices the end of the term in a process that has nothing to write.
func (c *candidate) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = c.term.check()
		}
	}
}
