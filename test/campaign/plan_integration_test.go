//go:build integration

package campaign

import (
	"encoding/json"
	"os"
	"testing"

	"reconcel/test/faultproxy"
)

// plan is a workload with faults. A failure prints it, and RECONCEL_PLAN=file runs it
// again.
type plan struct {
	Workload string `json:"workload"`
	// Separate gives the plan a process of its own, which some faults need anyway.
	Separate bool `json:"separate,omitempty"`

	Crash   *crash            `json:"crash,omitempty"`
	On      subject           `json:"on,omitempty"` // what Fault applies to
	Fault   *faultproxy.Fault `json:"fault,omitempty"`
	Seconds int               `json:"seconds,omitempty"` // ends Fault, unless 0
	Frames  *frames           `json:"frames,omitempty"`
	Lag     *lag              `json:"lag,omitempty"`
	Stale   *stale            `json:"stale,omitempty"`
	Absence *absence          `json:"absence,omitempty"`
}

// subject is a set of requests. Positions count within it.
type subject string

// The subjects. Those of the cluster need a process of their own.
const (
	onWrites    subject = "writes"    // of the run's objects
	onReads     subject = "reads"     // of single objects
	onLists     subject = "lists"     // of the cluster
	onWatches   subject = "watches"   // of the cluster
	onDiscovery subject = "discovery" // and OpenAPI
)

// crash is the end of the process at one of its writes.
type crash struct {
	Position  int     `json:"position"` // of the write, from 1
	Committed bool    `json:"committed"`
	Restart   restart `json:"restart"`
}

// restart is how a process follows one that has crashed.
type restart string

// The ways.
const (
	again   restart = "again"   // the same process starts again
	standby restart = "standby" // a process with warm caches takes over
)

// frames is a fault of the events of watches.
type frames struct {
	Resource string `json:"resource"` // plural
	faultproxy.FrameFault
}

// lag is a delay of all events of a resource, while those of others flow.
type lag struct {
	Resource     string `json:"resource"` // plural
	Milliseconds int    `json:"milliseconds"`
}

// stale is a crash followed by a start with a lagging API server.
type stale struct {
	Position  int                  `json:"position"`           // of the write, from 1
	Resource  string               `json:"resource,omitempty"` // plural; empty: all
	Step      int                  `json:"step"`               // the view is of the end of this step, from 0
	WatchList faultproxy.WatchList `json:"watchList"`
	Seconds   int                  `json:"seconds"` // until the view is current
}

// absence is a group that discovery lacks from the beginning of a step on.
type absence struct {
	Step    int                `json:"step"` // from 0
	Group   string             `json:"group"`
	How     faultproxy.Absence `json:"how"`
	Seconds int                `json:"seconds"`
}

// String returns the plan as JSON.
func (p plan) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // A plan is data.
	}
	return string(text)
}

// mode returns whether the plan needs a process of its own.
func (p plan) mode() alone {
	if p.alone() {
		return separate
	}
	return sharing
}

// alone reports whether the faults affect the whole process.
func (p plan) alone() bool {
	return p.Separate || p.Crash != nil || p.Frames != nil || p.Lag != nil || p.Stale != nil || p.Absence != nil || p.Fault != nil && p.On != onWrites && p.On != onReads
}

func readPlan(t *testing.T, file string) (p plan) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p
}
