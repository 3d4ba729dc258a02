package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"reconcel/engine/leader"
)

// A leaseState is the state of an installation's Lease.
type leaseState int

// The states of a Lease.
const (
	LeaseHeld    leaseState = iota // a process of the installation runs
	LeaseOver                      // none runs, according to the Lease
	LeaseUnknown                   // the Lease cannot be read
)

// A Leadership says whether another installation is led.
type Leadership struct {
	State  leaseState
	holder string
	// Says completes a message about the installation.
	Says string
}

// LeadershipIn reads a Lease. now tells whether it has expired.
func LeadershipIn(lease *unstructured.Unstructured, now time.Time) Leadership {
	r := leader.RecordOf(lease)
	if r.Holder == "" || r.Renewed.IsZero() {
		return Leadership{State: LeaseOver, Says: "which has stopped"}
	}
	if !now.Before(r.Expires) {
		return Leadership{State: LeaseOver, holder: r.Holder,
			Says: fmt.Sprintf("whose Lease expired %s ago", duration.HumanDuration(now.Sub(r.Expires)))}
	}
	return Leadership{State: LeaseHeld, holder: r.Holder,
		Says: fmt.Sprintf("whose Lease is held by %s, renewed %s ago", r.Holder,
			duration.HumanDuration(max(0, now.Sub(r.Renewed))))}
}
