//go:build integration

package campaign

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"reconcel/test/devcluster"
)

// writes returns the writes of a candidate in the order in which the API server received
// them. Writes of the Lease do not count.
func (c *contest) writes(user string) []devcluster.Request {
	c.Helper()
	return c.requests(func(r devcluster.Request) bool { return r.User == user && r.IsWrite() && r.Resource != "leases" })
}

// requests returns requests in the order in which the API server received them.
func (c *contest) requests(match func(devcluster.Request) bool) []devcluster.Request {
	c.Helper()
	found, err := c.cluster.Requests(match)
	if err != nil {
		c.Fatal(err)
	}
	slices.SortFunc(found, func(a, b devcluster.Request) int { return a.Received.Compare(b.Received) })
	return found
}

// judge compares the writes with the allowed ones.
func (c *contest) judge(load *load) {
	c.Helper()
	handovers := map[blow][]time.Duration{}
	// Late requests cannot be prevented. They must not set anything back, and must not
	// create anything twice.
	delayed, rejected := map[string]int{}, map[string]int{}
	for i, lost := range c.terms {
		heir := c.writes(c.heir(i))
		if len(heir) == 0 {
			c.Errorf("round %d: %s led, and wrote nothing", i+1, c.heir(i))
			continue
		}
		began := heir[0].Received
		took := began.Sub(lost.at)
		handovers[lost.by] = append(handovers[lost.by], took)
		if took > lost.by.limit() {
			c.Errorf("round %d: %s was %s, and it took %s until another wrote", i+1, lost.user, lost.by, took)
		}
		woken := 0
		for _, r := range c.writes(lost.user) {
			switch {
			case r.Completed.Before(began):
			case r.Received.Before(began) && r.Code >= 400:
				rejected[fmt.Sprintf("%s: %s %d %s", lost.by, r, r.Code, r.Message)]++ // Only half of it had arrived. Nothing is written.
			case lost.by == stopped && r.Received.After(lost.back) && woken == 0:
				woken++ // It was stopped between its check of the Lease and the write. That can happen to one worker, but not to all.
				fallthrough
			case lost.by == late && r.Received.After(lost.back):
				delayed[fmt.Sprintf("%s: %s %d", lost.by, r, r.Code)]++
			default:
				c.Errorf("round %d: %s was %s, and wrote beside the next: %s %s/%s, received %s after that had begun, answered %d %s",
					i+1, lost.user, lost.by, r, r.Namespace, r.Name, r.Received.Sub(began), r.Code, r.Message)
			}
		}
	}
	for _, b := range slices.Sorted(maps.Keys(handovers)) {
		took := slices.Sorted(slices.Values(handovers[b]))
		c.Logf("%s: %d times, another wrote after %s (least), %s (median), %s (most)", b, len(took),
			took[0].Round(time.Millisecond), took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	c.Logf("writes that came when another led already: %v; requests that had arrived in part: %v", delayed, rejected)
	c.judgeStandbys()
	c.judgeCreations()
	load.judge(func(child string, from, till time.Time) []devcluster.Request {
		return c.requests(func(r devcluster.Request) bool { return r.IsWrite() && r.Name == child && r.Between(from, till) })
	})
}

// heir returns the leader after a term.
func (c *contest) heir(i int) string {
	c.Helper()
	if i+1 < len(c.terms) {
		return c.terms[i+1].user
	}
	return c.leader(time.Second).Name
}

// judgeStandbys checks that only leaders wrote.
func (c *contest) judgeStandbys() {
	c.Helper()
	last := c.leader(time.Second)
	for _, one := range c.candidates {
		if found := c.writes(one.Name); one != last && len(found) > 0 {
			c.Errorf("%s has only stood by, and wrote %v", one.Name, devcluster.Tally(found))
		}
	}
}

// judgeCreations checks that every child was created once. Names are never reused.
func (c *contest) judgeCreations() {
	c.Helper()
	created := map[string]int{}
	for _, r := range c.requests(func(r devcluster.Request) bool {
		return r.Resource == "configmaps" && r.Verb == "patch" && r.Code == 201
	}) {
		created[r.Name]++
	}
	for name, times := range created {
		if times > 1 {
			c.Errorf("%s was created %d times", name, times)
		}
	}
	c.Logf("%d children were created, each once", len(created))
}
