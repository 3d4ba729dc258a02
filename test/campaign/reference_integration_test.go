//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/oracle"
)

// reference is what a workload does without faults.
type reference struct {
	oracle.Run
	after  []map[string][]string // the state at the end of each step
	took   []time.Duration       // of each step
	writes []string              // in their order
	reads  int                   // of single objects
	events map[string]int        // of watches, by resource
}

// resources returns the resources of the objects that were created, sorted.
func (r *reference) resources() (found []string) {
	for key := range r.Births {
		kind, _, _ := strings.Cut(key, " ")
		resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
		found = append(found, resource.Resource)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// reference returns the reference of a workload. It joins two runs, because not all runs
// without faults are equal.
func (s *stage) reference(t *testing.T, w workload, mode alone) *reference {
	t.Helper()
	key := w.name + " " + string(mode)
	s.mu.Lock()
	known := s.references[key]
	s.mu.Unlock()
	if known != nil {
		return known
	}
	ref, second := s.withoutFaults(t, w, mode), s.withoutFaults(t, w, mode)
	joined, err := ref.Run.Join(second.Run)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ref.took {
		ref.took[i] = max(ref.took[i], second.took[i])
	}
	for resource := range ref.events {
		ref.events[resource] = min(ref.events[resource], second.events[resource])
	}
	ref.Run = joined
	t.Logf("%s: %d writes, %d reads, steps of %v", key, len(ref.writes), ref.reads, ref.took)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.references[key] = ref
	return ref
}

// withoutFaults runs a workload. Each step ends when nothing changes any more.
func (s *stage) withoutFaults(t *testing.T, w workload, mode alone) *reference {
	t.Helper()
	r := s.newFaultRun(t, w, plan{Workload: w.name}, mode)
	reads := r.control.proxy.Inject(r.matches(onReads), nothing)
	ref := &reference{events: map[string]int{}}
	events := r.control.proxy.InjectFrames(func(f faultproxy.Frame) bool {
		if r.sees(f) {
			s.mu.Lock()
			defer s.mu.Unlock()
			ref.events[f.Resource]++
		}
		return false
	}, faultproxy.FrameFault{})
	for _, step := range w.Steps {
		began, before := time.Now(), r.loggedReloads()
		r.do(step)
		if step.Rules != "" { // On a busy machine the process reads them late.
			e2e.Poll(r.T, "the rules to be reloaded", time.Minute, 20*time.Millisecond, func() error {
				if now := r.loggedReloads(); now == before {
					return fmt.Errorf("there have been %d reloads", now)
				}
				return nil
			})
		}
		changed := r.settles()
		ref.took = append(ref.took, max(0, changed.Sub(began)))
		ref.after = append(ref.after, r.seen.State())
	}
	reads.Lift()
	for _, write := range r.control.writes(r.namespace) {
		ref.writes = append(ref.writes, fmt.Sprintf("%s %d", write, write.Code))
	}
	ref.reads, _ = reads.Hits()
	events.Lift()
	ref.Run = r.seen.Run()
	return ref
}

// loggedReloads returns how often the process has logged that it reloaded rules.
func (r *faultRun) loggedReloads() int {
	return strings.Count(r.control.process.Log(), `msg="rules reloaded"`)
}

// reported returns an error until the status of the primary is about its current spec, and
// until a primary that is being deleted is gone.
func (r *faultRun) reported() error {
	primary := r.seen.Live(oracle.Key{Kind: "Box", Namespace: r.namespace, Name: "a"})
	if primary == nil {
		return nil
	}
	if primary.GetDeletionTimestamp() != nil {
		return errors.New("the primary is being deleted")
	}
	return e2e.Current(primary)
}

// settles waits until nothing has changed for a while, and returns the time of the last
// change. On a busy machine, the process sees a new primary late.
func (r *faultRun) settles() (changed time.Time) {
	r.Helper()
	const still = 1200 * time.Millisecond
	last, writes := -1, -1
	changed = time.Now()
	e2e.Poll(r.T, "nothing to change", time.Minute, 50*time.Millisecond, func() error {
		if now, written := r.seen.Last(), len(r.control.writes(r.namespace)); now != last || written != writes {
			last, writes, changed = now, written, time.Now()
		}
		if left := r.seen.Abandoned(); len(left) > 0 {
			return fmt.Errorf("the garbage collector has not deleted %v", left)
		}
		if job := r.seen.Any("Job"); job != nil {
			return fmt.Errorf("Job %s is not gone", job.GetName()) // All have a time to live.
		}
		if err := r.reported(); err != nil {
			return err
		}
		if time.Since(changed) < still {
			return errors.New("something has changed a moment ago")
		}
		return nil
	})
	return changed
}
