package leader

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Options say who stands for the Lease.
type Options struct {
	Identity string            // of this process among the others
	Labels   map[string]string // of the Lease
	// Lost is called once when this process must not write any more, unless Run's
	// context ended. It must end the process at once.
	Lost func(error)
}

// Times of the Lease. The first two are those of Kubernetes' own controllers. A
// standby tries to acquire the Lease after 1 to 2.2 retry periods, and counts from
// the last renewal that it has seen. So a leader that is killed is replaced within
// 15 s and two attempts, which are 17.2 s, and one that releases the Lease within
// one attempt.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// Work knows whether this process can do the work of a leader.
type Work interface {
	// Unreachable returns why all requests have failed for at least this long, or nil.
	Unreachable(atLeast time.Duration) error
}

// A Candidate stands for a Lease.
type Candidate struct {
	elector *leaderelection.LeaderElector
	lock    lease
	look    resourcelock.Interface // for LogHolder: a lock is not safe for concurrent use
	term    *term
	work    Work
	elected chan struct{}
}

// NewCandidate makes a candidate for a Lease. It has a client of its own, so that
// no other request delays a renewal. work sees all other requests.
func NewCandidate(config *rest.Config, name types.NamespacedName, work Work, log *slog.Logger,
	options Options) (*Candidate, error) {
	config = rest.CopyConfig(config)
	config.Timeout = renewDeadline / 2
	config.QPS, config.RateLimiter = -1, nil
	client, err := coordination.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var once sync.Once
	c := &Candidate{
		term:    &term{lost: func(err error) { once.Do(func() { options.Lost(err) }) }},
		work:    work,
		elected: make(chan struct{}),
	}
	lock := resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: options.Identity},
		Labels:     options.Labels,
	}
	another := lock
	c.look = &another
	c.lock = lease{&lock, c.term, work, &leaseTrouble{log: log},
		&holderLog{log: log, lease: name.String(), identity: options.Identity}}
	c.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c.lock, Name: name.Name, ReleaseOnCancel: true,
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.elected) },
			OnStoppedLeading: func() {},
		},
	})
	return c, err
}

// Guard returns a transport that writes only while this process leads. Other writes fail with
// ErrNotLeading.
func (c *Candidate) Guard(next http.RoundTripper) http.RoundTripper { return guarded{next, c.term} }

// Elected returns a channel that is closed when this process leads.
func (c *Candidate) Elected() <-chan struct{} { return c.elected }

// Trouble returns why this process cannot lead, or nil.
func (c *Candidate) Trouble() error { return c.lock.trouble.standing() }

// LogHolder reads the Lease once and logs who holds it, before the process stands or while it
// begins to.
func (c *Candidate) LogHolder(ctx context.Context) {
	if record, _, err := c.look.Get(ctx); err == nil { // An error shows again when the process stands.
		c.lock.holder.note(record)
	}
}

// Stand stands for the Lease until resign is called, which releases it. It outlasts
// ctx, so that writes in progress end first.
func (c *Candidate) Stand(ctx context.Context) (resign func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		c.elector.Run(ctx)
		if ctx.Err() == nil {
			c.term.lost(errors.New("the Lease was not renewed in time, or another process holds it"))
		}
	})
	running.Go(func() { c.watchTerm(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// watchTerm notices the end of the term in a process that has nothing to write, and ends that of
// one that cannot work.
func (c *Candidate) watchTerm(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.term.check() == nil {
				c.term.giveUp(c.work.Unreachable(leaseDuration))
			}
		}
	}
}
