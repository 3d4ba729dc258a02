package report

import (
	"fmt"
	"time"
)

// The competitors.
const (
	Floor          = "floor"
	Baseline       = "baseline"
	Applier        = "applier"
	Reconcel       = "reconcel"
	Kro            = "kro"
	Metacontroller = "metacontroller"
)

// Competitors are in the order of the tables.
var Competitors = []string{Floor, Baseline, Applier, Reconcel, Kro, Metacontroller}

// Result is what one competitor did in one round.
type Result struct {
	Competitor string
	N          int // Foos, each with one Deployment
	Round      int // from 1

	IdlePeak int64 // bytes that were resident at most, after one Foo was created and deleted
	Peak     int64 // bytes that were resident at most, after the update

	Create, Update, Delete Step

	// What a competitor without watches does not do is nil.
	Rest    *Rest
	Drift   []time.Duration // from before the foreign write until the repair is seen, each
	Restart *Restart
	Reload  *Reload
}

// String is for people who watch the progress.
func (r Result) String() string {
	n := float64(r.N)
	return fmt.Sprintf("create %.1f s, update %.1f s, CPU %.2f and %.2f ms for each Foo, peak %.0f MB",
		r.Create.Statuses.Seconds(), r.Update.Statuses.Seconds(),
		milliseconds(r.Create.CPU)/n, milliseconds(r.Update.CPU)/n, megabytes(r.Peak))
}

// Step is a change of all Foos.
type Step struct {
	Children time.Duration  // until all Deployments are as wanted
	Statuses time.Duration  // until all Foos are as wanted too
	CPU      time.Duration  // of the competitor, until it rests
	Servers  time.Duration  // CPU of the API server and etcd in that time
	Requests map[string]int // of the competitor, by verb and resource
	Writes   int            // those of them that change something, without Events
	Events   int            // those of them that send an Event
}

// Rest is a time in which nothing happens.
type Rest struct {
	Duration time.Duration
	CPU      time.Duration
	Requests int // of any kind
	Writes   int
}

// Restart is a start while all objects except a few are as wanted.
type Restart struct {
	Ready  time.Duration // until the Deployments of Foos that were changed before are as wanted
	Writes int           // of other objects, and Events
}

// Reload is a change of the rules that changes every Deployment.
type Reload struct {
	First time.Duration // until the first Deployment is as wanted
	All   time.Duration
}
