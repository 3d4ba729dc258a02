//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

const (
	// runPatience is when a run that should have recovered is given up.
	runPatience = 15 * time.Second
	// restFor is how long nothing may be written at the end.
	restFor = time.Second
	// lateEffect is the time in which a late request shows its effect.
	lateEffect = time.Second
)

// maxRecovery is how much longer than its reference a run may take after the last fault.
// An answer that says that a request is wrong, or forbidden, is retried after the time
// that the documentation names.
func (p plan) maxRecovery() time.Duration {
	const common = 5 * time.Second
	if p.Lag != nil {
		// Each step of a reaction waits for its events.
		return common + 5*time.Duration(p.Lag.Milliseconds)*time.Millisecond
	}
	if p.isSilent() {
		return common + time.Minute // A watch that is silent for so long is renewed.
	}
	if p.Fault == nil {
		return common
	}
	switch p.Fault.Code {
	case http.StatusForbidden:
		return common + 36*time.Second
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return common + 144*time.Second
	}
	if p.On == onWatches && p.Fault.Times > 1 {
		return common + reflectorBackoff(p.Fault.Times)
	}
	return common
}

// reflectorBackoff is the longest time that client-go waits after so many lists of one kind have failed: 0.8 s after the
// first, twice as long after each further one up to 30 s, and at random up to as long again
// (k8s.io/client-go v0.37.2, tools/cache/reflector.go, defaultBackoffInit to defaultBackoffJitter).
func reflectorBackoff(failures int) time.Duration {
	wait := 800 * time.Millisecond
	for range failures - 1 {
		wait = min(2*wait, 30*time.Second)
	}
	return 2 * wait
}

// lastFault returns the time after which the run must recover.
func (r *faultRun) lastFault() (last time.Time) {
	if r.injected != nil {
		_, last = r.injected.Hits()
	}
	if f := r.plan.Fault; f != nil && f.Effect == faultproxy.Late && !last.IsZero() {
		last = last.Add(time.Duration(f.Milliseconds)*time.Millisecond + lateEffect)
	}
	for _, other := range []time.Time{r.crashed, r.thawAt} {
		if other.After(last) {
			last = other
		}
	}
	return last
}

// isSilent reports whether the plan has watches that deliver nothing.
func (p plan) isSilent() bool {
	return p.Frames != nil && p.Frames.Effect == faultproxy.Silence || p.Fault != nil && p.Fault.Effect == faultproxy.Blackhole
}

// errSlow is the error of a run that recovers later than it should.
var errSlow = errors.New("slow")

// converges waits until the state is that of the reference, and returns an error if it
// comes too late or never.
func (r *faultRun) converges(i int, want reference) error {
	r.Helper()
	began, running := time.Now(), time.Time{}
	seen := -1
	var state map[string][]string
	for {
		r.tick()
		if r.control.process.Ended() {
			return fmt.Errorf("step %d: the process ended by itself", i)
		}
		if !r.crashed.IsZero() && running.IsZero() && r.control.process.Logged("msg=running") {
			running = time.Now()
		}
		if last := r.seen.Last(); last != seen {
			seen, state = last, r.seen.State()
		}
		// Rules that change no object are reloaded while the next step is played. A step of rules
		// has no such excuse.
		if r.workload.reloads() && r.Steps[i].Rules == "" {
			now := r.loggedReloads()
			if now > r.reloads {
				r.reloaded = time.Now()
			}
			r.reloads = now // A new process begins at 0.
		}
		after := began
		for _, t := range []time.Time{r.lastFault(), running, r.reloaded} {
			if t.After(after) {
				after = t
			}
		}
		took := time.Since(after)
		if r.thaw == nil && took >= 0 && reflect.DeepEqual(state, want.after[i]) {
			if took > want.took[i]+r.plan.maxRecovery() {
				return fmt.Errorf("%w: step %d: it recovered %s after the last fault, and %s after the step began; the reference took %s",
					errSlow, i, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), want.took[i].Round(time.Millisecond))
			}
			return nil
		}
		if took > want.took[i]+r.plan.maxRecovery()+runPatience {
			return fmt.Errorf("step %d: it did not recover within %s (-reference +run):\n%s", i, took.Round(time.Second), cmp.Diff(want.after[i], state))
		}
		e2e.Rest(r.T, 20*time.Millisecond)
	}
}

// version returns the last resourceVersion of the run's objects.
func (r *faultRun) version() (last uint64) {
	for _, text := range r.seen.Versions() {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			last = max(last, v)
		}
	}
	return last
}

// mostAttempts is how often a write may fail in a run.
const mostAttempts = 15

// hotLoops returns the writes that failed too often.
func (r *faultRun) hotLoops() (found []string) {
	failed := map[string]int{}
	for _, write := range r.control.writes(r.namespace) {
		if write.Code < 200 || write.Code >= 300 {
			failed[write.String()]++
		}
	}
	for write, times := range failed {
		if times > mostAttempts {
			found = append(found, fmt.Sprintf("%s failed %d times, at most %d are allowed", write, times, mostAttempts))
		}
	}
	return found
}
