//go:build integration

package campaign

import (
	"cmp"
	"strings"

	"reconcel/test/faultproxy"
)

var families = []family{
	{"crashes", 8, separate, crashes},
	{"errors", 12, sharing, requestErrors},
	{"rejections", 0, sharing, rejections},
	{"stale", 3, separate, staleViews},
	{"frames", 6, separate, frameFaults},
	{"lags", 4, separate, lags},
	{"cluster", 4, separate, clusterErrors},
	{"absence", 2, separate, absences},
	{"silence", 0, separate, silences},
}

// crashes are the ends of the process before and after every write. Each is followed by a start
// or by a standby, in turn.
func crashes(w workload, ref *reference) (plans []plan) {
	for k := range ref.writes {
		for i, committed := range []bool{false, true} {
			way := []restart{again, standby}[(k+i)%2]
			plans = append(plans, plan{Workload: w.name, Crash: &crash{Position: k + 1, Committed: committed, Restart: way}})
		}
	}
	return plans
}

// answers are errors of an API server and of what is before it. A Status of code 404 for
// an object that exists is not among them: no API server sends it.
var answers = []faultproxy.Answer{
	{Code: 404, Body: faultproxy.PlainText}, {Code: 409},
	{Code: 429, RetryAfter: 1}, {Code: 429}, {Code: 500}, {Code: 500, Body: faultproxy.WithoutReason, Message: "etcdserver: request timed out"},
	{Code: 502, Body: faultproxy.PlainText}, {Code: 502, Body: faultproxy.WithID}, {Code: 503}, {Code: 503, RetryAfter: 1}, {Code: 504},
}

// faultsOfRequests are the faults of single requests.
func faultsOfRequests() (faults []faultproxy.Fault) {
	for _, a := range answers {
		faults = append(faults, faultproxy.Fault{Effect: faultproxy.Reply, Answer: a, Times: 1}, faultproxy.Fault{Effect: faultproxy.Reply, Answer: a, Times: 3})
	}
	return append(faults,
		faultproxy.Fault{Effect: faultproxy.ReplyAfter, Answer: faultproxy.Answer{Code: 500, Body: faultproxy.WithoutReason}, Times: 1},
		faultproxy.Fault{Effect: faultproxy.ReplyAfter, Answer: faultproxy.Answer{Code: 504}, Times: 1},
		faultproxy.Fault{Effect: faultproxy.CutBefore, Times: 1}, faultproxy.Fault{Effect: faultproxy.CutBefore, Times: 3},
		faultproxy.Fault{Effect: faultproxy.CutAfter, Times: 1}, faultproxy.Fault{Effect: faultproxy.CutAfter, Times: 3},
		faultproxy.Fault{Effect: faultproxy.Delay, Milliseconds: 2000, Times: 1},
	)
}

func withFault(w workload, on subject, f faultproxy.Fault) plan {
	return plan{Workload: w.name, On: on, Fault: &f}
}

// requestErrors are faults of every write and read of a run, two of each.
func requestErrors(w workload, ref *reference) []plan {
	return everywhere(w, ref, faultsOfRequests(), 2)
}

// rejections are answers that say that a request is wrong or forbidden. The next try
// comes after up to two minutes, so make test-cluster runs none of them, and make faults has one for
// every second request.
func rejections(w workload, ref *reference) (plans []plan) {
	var faults []faultproxy.Fault
	for _, code := range []int{400, 403, 422} {
		faults = append(faults, faultproxy.Fault{Effect: faultproxy.Reply, Answer: faultproxy.Answer{Code: code}, Times: 1})
	}
	for i, p := range everywhere(w, ref, faults, 1) {
		if i%2 == 0 {
			plans = append(plans, p)
		}
	}
	return plans
}

// everywhere applies some of the faults to each write and read: the next ones in the list for
// the next request. So every request has faults, and every fault has many requests.
func everywhere(w workload, ref *reference, faults []faultproxy.Fault, each int) (plans []plan) {
	next := 0
	add := func(on subject, requests int) {
		for k := range requests {
			for range each {
				f := faults[next%len(faults)]
				f.Skip, next = k, next+1
				plans = append(plans, withFault(w, on, f))
			}
		}
	}
	add(onWrites, len(ref.writes))
	add(onReads, ref.reads)
	return plans
}

// staleViews are starts with a lagging API server, at every deletion.
func staleViews(w workload, ref *reference) (plans []plan) {
	for k, write := range ref.writes {
		if !strings.HasPrefix(write, "DELETE") {
			continue
		}
		for step := range ref.after {
			for _, watchList := range []faultproxy.WatchList{faultproxy.WatchListAllowed, faultproxy.WatchListRefused} {
				plans = append(plans, plan{Workload: w.name, Stale: &stale{Position: k + 1, Step: step, WatchList: watchList, Seconds: 4}})
			}
		}
	}
	return plans
}

// frameFaults are faults of the first events of each resource, two of each.
func frameFaults(w workload, ref *reference) (plans []plan) {
	faults := []faultproxy.FrameFault{
		{Effect: faultproxy.Duplicate, Times: 1}, {Effect: faultproxy.Garble, Times: 1}, {Effect: faultproxy.Truncate, Times: 1},
		{Effect: faultproxy.Cut, Times: 1}, {Effect: faultproxy.Status, Code: 410, Times: 1}, {Effect: faultproxy.Status, Code: 500, Times: 1},
	}
	next := 0
	for _, resource := range ref.resources() {
		for skip := range min(8, ref.events[resource]) {
			for range 2 {
				f := faults[next%len(faults)]
				f.Skip, next = skip, next+1
				plans = append(plans, plan{Workload: w.name, Frames: &frames{Resource: resource, FrameFault: f}})
			}
		}
	}
	return plans
}

// silences are watches that deliver nothing, from the first byte or from an event on. It
// takes a minute to notice, so make test-cluster runs none of them.
func silences(w workload, ref *reference) (plans []plan) {
	for hits := range 3 {
		plans = append(plans, atStart(withFault(w, onWatches, faultproxy.Fault{Effect: faultproxy.Blackhole, Times: hits + 1})))
	}
	for _, resource := range ref.resources() {
		for skip := range min(3, ref.events[resource]) {
			plans = append(plans, plan{Workload: w.name, Frames: &frames{resource, faultproxy.FrameFault{Effect: faultproxy.Silence, Skip: skip, Times: 1}}})
		}
	}
	return plans
}

// lags are late events of each resource.
func lags(w workload, ref *reference) (plans []plan) {
	for _, resource := range ref.resources() {
		for _, milliseconds := range []int{300, 2000} {
			plans = append(plans, plan{Workload: w.name, Lag: &lag{resource, milliseconds}})
		}
	}
	return plans
}

// atStart lets the process crash early, because lists, watches and discovery are requests
// of its start.
func atStart(p plan) plan {
	p.Crash = &crash{Position: 2, Committed: true, Restart: again}
	return p
}

// clusterErrors are faults of lists, watches and discovery for some seconds. A workload has every
// second answer, and those whose names are a letter longer the others.
func clusterErrors(w workload, _ *reference) (plans []plan) {
	for _, on := range []subject{onLists, onWatches, onDiscovery} {
		for i, a := range answers {
			if i%2 != len(w.name)%2 {
				continue
			}
			plans = append(plans, atStart(withFault(w, on, faultproxy.Fault{Effect: faultproxy.Reply, Answer: a, Times: 5})))
		}
	}
	return plans
}

// absences are groups that discovery lacks for a while, from each step on.
func absences(w workload, _ *reference) (plans []plan) {
	group := cmp.Or(w.Group, "faults.reconcel.dev")
	for step := range w.Steps {
		for _, how := range []faultproxy.Absence{faultproxy.GroupMissing, faultproxy.GroupEmpty} {
			plans = append(plans, plan{Workload: w.name, Absence: &absence{Step: step, Group: group, How: how, Seconds: 5}})
		}
	}
	return plans
}
