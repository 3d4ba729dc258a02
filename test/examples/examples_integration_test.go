//go:build integration

// Package examples tests every example on a real control plane, with the real binary and
// an account that has only the permissions that reconcel rbac prints. An example must
// converge, repair foreign changes to its children and be idle when converged. It must
// survive a kill at any moment and leave nothing behind. A table has the details of each
// example.
//
// RECONCEL_SOAK=1 kills the process more often, and withholds every permission from every
// example. RECONCEL_BINARY names a binary to test instead of a new one.
package examples

import (
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// example is the description of an example for the tests.
type example struct {
	name      string   // its folder
	rules     []string // files in its folder, rules.yaml if there are none
	setup     []string // files with objects that must exist before
	resources []string // files with the primaries
	global    []string // names in these files of cluster-scoped objects, including namespaces
	kept      []string // resources of which the tests never cause a delete
	patched   []string // resources that rules only patch: they are read where a patch is rejected
	children  []children
	// ready returns an error until primaries without a condition Ready are ready.
	ready func(*world) error
	// updates are applied in order, both in the reference run and in the killed runs.
	updates []update
	// disturbances are foreign changes to the primaries while reconcel is stopped.
	disturbances []update
	// soakKills leaves the kills at each write to RECONCEL_SOAK=1.
	soakKills bool
	// story makes further checks, and ends in a converged state.
	story func(*world)
}

// children are the objects of one kind in a converged example.
type children struct {
	kind  string
	count int
	names []string // unless they are generated
}

// update is a change to a primary: a JSON merge patch, and a check that must pass before
// the update counts as done, in addition to the condition Ready.
type update struct {
	kind, name, patch string
	done              func(*world) error
}

// restTime is how long a converged example must not write.
const restTime = 5 * time.Second

func TestExamples(t *testing.T) {
	t.Parallel()
	binary := e2e.Build(t)
	for _, e := range table {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, e, binary, reserveCluster(t))
			lap := laps(t)
			references := w.lifetime(lap)
			if t.Failed() {
				return
			}
			if soak.Enabled() || !e.soakKills {
				w.diesAtEveryWrite(references)
				lap("survived every kill")
			}
			if soak.Enabled() {
				w.diesOnce(references)
				lap("survived a single kill at each write")
			}
		})
	}
}

// reserveCluster returns a cluster for one example. It is not shared: examples have rules
// of the same name, and rules that select the objects of other examples.
func reserveCluster(t *testing.T) *devcluster.Cluster {
	t.Helper()
	return devcluster.Reserve(t, devcluster.Options{CRDs: "../../crds"})
}

// laps returns a function that logs how long the test has taken so far.
func laps(t *testing.T) func(what string) {
	t.Helper()
	began := time.Now()
	return func(what string) { t.Logf("%s after %s", what, time.Since(began).Round(10*time.Millisecond)) }
}

// lifetime runs an example without faults from its start to its end. It returns the
// states after the creation and after each update.
func (w *world) lifetime(lap func(string)) (references []state) {
	w.Helper()
	w.enter()
	references = w.lives(lap)
	w.process.end() // Only a running process ends in an orderly way.
	w.mayDoWhatItNeeds()
	w.leave()
	return references
}

// lives runs a lifetime in the current namespace. The process still runs when it returns.
func (w *world) lives(lap func(string)) (references []state) {
	w.Helper()
	w.start(w.account.kubeconfig)
	w.createResources()
	w.eventually("it to converge", w.converged)
	w.eventually("all children to be there", w.complete)
	reference := w.settled()
	references = append(references, reference)
	lap("converged")

	w.mendsEdits(reference)
	w.mendsDeletions(reference)
	w.settled()
	w.eventually("it to converge again", w.converged) // A Job exists before it has run.
	lap("mended")
	w.quiet(restTime)
	lap("at rest")
	w.foretells(reference)
	lap("foretold")

	for _, u := range w.updates {
		w.update(u)
		w.eventually("it to converge after "+u.patch, w.converged)
		if u.done != nil {
			w.eventually("it to be done after "+u.patch, func() error { return u.done(w) })
		}
		references = append(references, w.settled())
	}
	if w.story != nil {
		w.story(w)
		lap("told")
	}
	w.deletePrimaries()
	w.eventually("nothing to be left", w.nothingLeft)
	lap("gone")
	w.followsOtherRules()
	return references
}
