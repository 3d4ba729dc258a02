package leader

import (
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A holderLog logs which other process holds the Lease, once for each holder.
type holderLog struct {
	log      *slog.Logger
	lease    string // namespace/name
	identity string // of this process

	mu     sync.Mutex
	logged string // the last holder
}

func (n *holderLog) note(record *resourcelock.LeaderElectionRecord) {
	n.mu.Lock()
	defer n.mu.Unlock()
	holder := record.HolderIdentity
	if holder == n.logged {
		return
	}
	if n.logged = holder; holder == "" || holder == n.identity {
		return
	}
	// Clocks differ, so this process counts from now on: the next renewal shows
	// whether the holder is alive.
	n.log.Info("standing by", "lease", n.lease, "holder", holder, "since", record.AcquireTime.UTC().Format(time.RFC3339),
		"expires", "in "+leaseDuration.String()+" unless renewed", "hint", "a second installation needs another --name")
}
