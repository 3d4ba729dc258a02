package engine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A leaseNotice tells people that this process stands by, and for whom: once
// for each process that holds the Lease.
type leaseNotice struct {
	log      *slog.Logger
	lease    string // namespace/name
	identity string // of this process

	mu   sync.Mutex
	told string // the holder that people know of
}

// note takes what the Lease says.
func (n *leaseNotice) note(record *resourcelock.LeaderElectionRecord) {
	n.mu.Lock()
	defer n.mu.Unlock()
	holder := record.HolderIdentity
	if holder == n.told {
		return
	}
	if n.told = holder; holder == "" || holder == n.identity {
		return
	}
	// This process counts from now on, since clocks differ: whether the holder is
	// alive shows in its next renewal.
	n.log.Info("standing by", "lease", n.lease, "holder", holder, "since", record.AcquireTime.UTC().Format(time.RFC3339),
		"expires", "in "+leaseDuration.String()+" unless renewed", "hint", "a second installation needs another --name")
}

// look reads the Lease once, so that people are told at once and not only when
// the caches are filled.
func (c *candidate) look(ctx context.Context) {
	_, _, _ = c.lock.Get(ctx) // Errors show again when it stands.
}
