//go:build integration

// Package examples tries every example out on a real control plane, with the
// real binary and an account that may do only what reconcel rbac prints: it converges, it mends what others do to its children, it rests
// when there is nothing to do, it can be killed at any moment, and it leaves
// nothing behind. What is particular to an example stands in a table.
//
// RECONCEL_SOAK=1 kills it more often, and takes every permission away from every
// example. RECONCEL_BINARY names a binary that is
// tried out instead of a new one.
package examples

import (
	"os"
	"testing"
	"time"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

// An example is what the tests have to know about one.
type example struct {
	name      string   // of its folder
	rules     []string // files in its folder, rules.yaml if there are none
	crds      []string // files, in crds/ or its own folder
	setup     []string // files with what must be there before
	resources []string // files with the primaries
	global    []string // names in these files of what is in no namespace, or is one
	kept      []string // resources of which the tests give no reason to delete one
	children  []children
	// ready says what is missing of primaries that have no condition Ready.
	ready func(*world) error
	// updates are made one after the other, the reference run and the killed runs
	// alike.
	updates []update
	// disturbances are what somebody does to the primaries while nobody watches.
	disturbances []update
	// story tells what else there is to see, and leaves everything converged.
	story func(*world)
}

// children are those of one kind that an example has once it has converged.
type children struct {
	kind  string
	count int
	names []string // where they are not generated
}

// An update is a change to a primary: JSON that is merged into it, and what must
// be so before it counts as done, besides the condition Ready.
type update struct {
	kind, name, patch string
	done              func(*world) error
}

// soak reports whether there is time.
func soak() bool { return os.Getenv("RECONCEL_SOAK") != "" }

// restTime is how long a converged example must not write anything.
const restTime = 5 * time.Second

func TestExamples(t *testing.T) {
	binary := e2e.Build(t)
	for _, e := range table {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			// Not one that is shared: examples have rules of the same name, and rules
			// for what other examples make.
			cluster := devcluster.Reserve(t)
			// The garbage collector looks for new kinds every 30 s. So a cluster has
			// those of all examples from the beginning, and only the first waits.
			for _, other := range table {
				newWorld(t, other, binary, cluster).establish()
			}
			began := time.Now()
			lap := func(what string) {
				t.Logf("%s after %s", what, time.Since(began).Round(10*time.Millisecond))
			}
			w := newWorld(t, e, binary, cluster)
			references := w.lifetime(lap)
			if t.Failed() {
				return
			}
			w.diesAtEveryWrite(references)
			lap("survived every kill")
			if soak() {
				w.diesOnce(references)
				lap("survived a single kill at each write")
			}
		})
	}
}

// lifetime lets an example run without faults from its beginning to its end, and
// returns what it was like after its creation and after each update.
func (w *world) lifetime(lap func(string)) (references []state) {
	w.Helper()
	w.enter()
	references = w.lives(lap)
	w.process.end() // When it is running.
	w.mayDoWhatItNeeds()
	w.leave()
	return references
}

// lives is a lifetime in the namespace that was entered. At its end the process
// runs.
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
