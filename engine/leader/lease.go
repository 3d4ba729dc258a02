package leader

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A lease is the lock of an election. It notes renewals with the time before the
// request: other processes count from when the request is served.
type lease struct {
	resourcelock.Interface
	term    *term
	work    Work
	trouble *leaseTrouble
	holder  *holderLog
}

func (l lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if l.trouble.note(reading, err); err == nil {
		l.holder.note(record)
		// client-go would go on until its deadline, as if the Lease could come back: two processes would write.
		if other := record.HolderIdentity; other != "" && other != l.Identity() && l.term.mayWrite() {
			l.term.giveUp(fmt.Errorf("%s holds the Lease now", other))
		}
	}
	return record, raw, err
}

func (l lease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if err := l.unable(); err != nil {
		return err
	}
	at := time.Now()
	return l.note(at, r, l.Interface.Create(ctx, r))
}

func (l lease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity != l.Identity() { // client-go is about to release it.
		// client-go would do so even if another process holds the Lease by now. That
		// one would lose it without noticing.
		if !l.term.excludesOthers() {
			return ErrNotLeading
		}
		l.term.resigned.Store(true)
	} else if err := l.unable(); err != nil {
		return err
	}
	at := time.Now()
	return l.note(at, r, l.Interface.Update(ctx, r))
}

// unable returns why this process must not acquire the Lease: it could do nothing with it. Without
// that, processes that are all unable would hand the Lease back and forth. A leader ends by itself.
func (l lease) unable() error {
	if l.term.renewed.Load() != nil {
		return nil
	}
	return l.work.Unreachable(leaseDuration)
}

func (l lease) note(at time.Time, r resourcelock.LeaderElectionRecord, err error) error {
	l.trouble.note(writing, err)
	if err == nil && r.HolderIdentity == l.Identity() {
		l.term.renew(at)
	}
	return err
}
