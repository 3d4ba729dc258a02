//go:build integration

package campaign

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"reconcel/test/soak"
)

// family is a set of plans.
type family struct {
	name   string
	sample int // the number of plans that make test-cluster runs
	mode   alone
	plans  func(w workload, ref *reference) []plan
}

// everyPlan says that no plan is left out.
const everyPlan = -1

// A draw has the workloads of a family that run, and how many plans of each.
type draw struct {
	family
	workloads []workload
	quota     map[string]int // the number of plans of each workload, or everyPlan
	random    *rand.Rand
}

// drawAll selects plans of each family. All of them run in a soak, and a sample in make
// test. The workloads of a sample are selected first, because each needs a reference.
func (s *stage) drawAll(t *testing.T, selected []family, random *rand.Rand) (draws []*draw) {
	t.Helper()
	var all []workload
	policies := s.servesPolicies(t)
	for _, name := range workloadNames(t) {
		w := readWorkload(t, name)
		if only := os.Getenv("RECONCEL_WORKLOAD"); (only == "" || only == name) && (policies || !w.strips()) {
			all = append(all, w)
		}
	}
	for _, f := range selected {
		d := &draw{family: f, quota: map[string]int{}, random: rand.New(rand.NewPCG(random.Uint64(), 0))}
		draws = append(draws, d)
		sample := f.sample
		if text := os.Getenv("RECONCEL_PLANS"); text != "" {
			var err error
			if sample, err = strconv.Atoi(text); err != nil {
				t.Fatalf("RECONCEL_PLANS: %v", err)
			}
		} else if soak.Enabled() {
			d.workloads = all
			for _, w := range all {
				d.quota[w.name] = everyPlan
			}
			continue
		}
		for range sample {
			w := all[random.IntN(len(all))]
			if d.quota[w.name]++; d.quota[w.name] == 1 {
				d.workloads = append(d.workloads, w)
			}
		}
	}
	return draws
}

// allReferences runs each workload that is drawn without faults.
func (s *stage) allReferences(t *testing.T, draws []*draw) {
	started := map[string]bool{}
	for _, d := range draws {
		for _, w := range d.workloads {
			key := w.name + " " + string(d.mode)
			if started[key] {
				continue
			}
			started[key] = true
			t.Run(key, func(t *testing.T) {
				t.Parallel()
				s.reference(t, w, d.mode)
			})
		}
	}
}

// drawn returns the plans of a draw, in random order, and how many its workloads have.
// The recorded plans are not among them, because they run anyway.
func (s *stage) drawn(t *testing.T, d *draw, recorded []plan) (plans []plan, total int) {
	t.Helper()
	for _, w := range d.workloads {
		of := slices.DeleteFunc(d.family.plans(w, s.reference(t, w, d.mode)), func(p plan) bool {
			return slices.ContainsFunc(recorded, func(r plan) bool { return r.String() == p.String() })
		})
		total += len(of)
		d.random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		if n := d.quota[w.name]; n != everyPlan {
			of = of[:min(n, len(of))]
		}
		plans = append(plans, of...)
	}
	d.random.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
	return plans, total
}
