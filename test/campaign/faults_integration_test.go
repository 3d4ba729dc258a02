//go:build integration

package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/oracle"
	"reconcel/test/soak"
)

// nothing is a fault that only counts requests.
var nothing = faultproxy.Fault{}

// TestFaults runs plans, and compares each with a run without faults. RECONCEL_PLAN=file
// runs one plan. RECONCEL_PLANS=n is the number of plans of each family, at most.
// RECONCEL_FAMILY and RECONCEL_WORKLOAD select some.
func TestFaults(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if file := os.Getenv("RECONCEL_PLAN"); file != "" {
		s.play(readPlan(t, file))
		return
	}
	selected := families
	if only := os.Getenv("RECONCEL_FAMILY"); only != "" {
		selected = slices.DeleteFunc(slices.Clone(families), func(f family) bool { return f.name != only })
	}
	draws := s.drawAll(t, selected, chance(t))
	s.Run("references", func(t *testing.T) { s.allReferences(t, draws) })
	recorded := recordedPlans(t)
	tallies := []*tally{{name: "recorded", plans: recorded, total: len(recorded)}}
	for _, d := range draws {
		plans, total := s.drawn(t, d, recorded)
		tallies = append(tallies, &tally{name: d.family.name, plans: plans, total: total})
	}
	s.judgeAll(t, tallies)
	for _, one := range tallies {
		t.Logf("%s: %d of %d plans ran, %d held; in %d the fault did not occur", one.name, len(one.plans), one.total, one.held.Load(), one.missed.Load())
	}
}

// A tally has the plans of a family, and what became of them.
type tally struct {
	name         string
	plans        []plan
	total        int // the plans of the family, those that do not run included
	held, missed atomic.Int32
}

// recordedPlans returns the plans in testdata/plans, which have failed once. Silent
// watches take minutes, so make test-cluster leaves them out.
func recordedPlans(t *testing.T) (plans []plan) {
	t.Helper()
	files, err := filepath.Glob("testdata/plans/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if p := readPlan(t, file); soak.Enabled() || !p.isSilent() {
			plans = append(plans, p)
		}
	}
	return plans
}

// judgeAll runs plans in parallel. Some wait for minutes until something is retried, so the families
// are mixed.
func (s *stage) judgeAll(t *testing.T, tallies []*tally) {
	type run struct {
		plan
		*tally
	}
	var runs []run
	for _, of := range tallies {
		for _, p := range of.plans {
			runs = append(runs, run{p, of})
		}
	}
	chance(t).Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	t.Run("plans", func(t *testing.T) {
		for i, r := range runs {
			t.Run(fmt.Sprintf("%d %s %s", i, r.name, r.Workload), func(t *testing.T) {
				t.Parallel()
				struck, found := s.violations(t, r.plan)
				if r.judge(t, found) {
					r.held.Add(1)
				}
				if !struck {
					r.missed.Add(1)
				}
			})
		}
	})
}

// play runs one plan.
func (s *stage) play(p plan) {
	s.Run(p.Workload, func(t *testing.T) {
		_, found := s.violations(t, p)
		p.judge(t, found)
	})
}

// judge reports violations, and whether the plan holds.
func (p plan) judge(t *testing.T, found []string) bool {
	t.Helper()
	if len(found) > 0 {
		t.Errorf("RECONCEL_PLAN: %s\n%s", p, strings.Join(found, "\n"))
	}
	return len(found) == 0
}

// violations runs a plan. It returns whether the fault occurred, and what was wrong. A
// busy machine slows everything down, so a plan is slow only if it is slow three times.
func (s *stage) violations(t *testing.T, p plan) (struck bool, found []string) {
	t.Helper()
	for range 3 {
		var err error
		if struck, found, err = s.attempt(t, p); err == nil {
			return struck, found
		}
		found = append(found, err.Error())
		if !errors.Is(err, errSlow) {
			break
		}
	}
	return struck, found
}

// attempt runs a plan once.
func (s *stage) attempt(t *testing.T, p plan) (struck bool, found []string, err error) {
	t.Helper()
	w := readWorkload(t, p.Workload)
	ref := s.reference(t, w, p.mode())
	r := s.newFaultRun(t, w, p, p.mode())
	foreign := r.foreignVersions()
	r.arm()
	shown := showings{}
	for i, step := range w.Steps {
		if p.Absence != nil && p.Absence.Step == i {
			r.hide()
		}
		r.do(step)
		if err := r.converges(i, *ref); err != nil {
			found = oracle.Untouched(foreign, r.foreignVersions())
			return true, append(found, r.leaks(shown, []string{err.Error()})...), err
		}
		r.ends = append(r.ends, r.version())
		r.show(shown, i)
	}
	written := len(r.control.writes(r.namespace))
	e2e.Rest(t, restFor)
	for _, write := range r.control.writes(r.namespace)[written:] {
		// A write that came too late is rejected. The inventory follows some seconds later.
		if write.Code >= 200 && write.Code < 300 && write.Namespace != "default" {
			found = append(found, fmt.Sprintf("at rest it wrote %s: %d", write, write.Code))
		}
	}
	found = append(found, r.seen.Run().Violations(ref.Run)...)
	found = append(found, r.seen.OutOfOrder(w.Order)...)
	found = append(found, oracle.Untouched(foreign, r.foreignVersions())...)
	found = append(found, r.hotLoops()...)
	if strings.Contains(r.control.process.Log(), "panic") {
		found = append(found, "the process panicked")
	}
	found = append(found, r.leaks(shown, found)...)
	return p.Lag != nil || !r.lastFault().IsZero(), found, nil
}

// foreignVersions returns the versions of the objects that must not change.
func (r *faultRun) foreignVersions() map[oracle.Key]string {
	all := r.seen.Versions()
	found := map[oracle.Key]string{}
	for _, object := range r.Foreign {
		u := r.fill(object).(map[string]any)
		name := u["metadata"].(map[string]any)["name"].(string)
		key := oracle.Key{Kind: u["kind"].(string), Namespace: r.namespace, Name: name}
		found[key] = all[key]
	}
	return found
}
