//go:build integration

package examples

import (
	"errors"
	"slices"
	"testing"

	"reconcel/internal/devcluster"
)

// TestEveryPermissionIsNeeded takes one permission after the other away from the
// account, and looks for the request that it was for, in three examples. That an example makes use
// of all that it is allowed is part of its life; this shows that the audit log
// tells the truth of it.
func TestEveryPermissionIsNeeded(t *testing.T) {
	binary := build(t)
	for _, e := range table {
		if !slices.Contains([]string{"foo", "config-propagation", "backup-on-delete"}, e.name) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			cluster := devcluster.Reserve(t)
			if cluster.Borrowed() {
				t.Skip("a borrowed cluster has no audit log")
			}
			w := newWorld(t, e, binary, cluster)
			w.establish()
			w.enter()
			granted := w.account.granted
			w.leave()
			for _, a := range granted {
				if a.resource == "events" && a.verb == "patch" {
					continue // Nothing here is told twice.
				}
				t.Run(a.String(), func(t *testing.T) {
					w := newWorld(t, e, binary, cluster)
					w.withheld = a
					w.livesUntilRefused()
				})
			}
		})
	}
}

// livesUntilRefused lets an example live until a request is refused.
func (w *world) livesUntilRefused() {
	w.Helper()
	w.enter()
	w.environment = []string{plainLists}
	or := func(done func() error) func() error {
		return func() error {
			if len(w.refused()) > 0 {
				return nil
			}
			return done()
		}
	}
	steps := []func(){
		func() { w.start(w.account.kubeconfig) },
		w.createResources,
		func() { w.eventually("it to converge", or(w.converged)) },
	}
	for _, u := range w.updates {
		steps = append(steps, func() {
			w.update(u)
			w.eventually("it to converge after "+u.patch, or(w.converged))
			if u.done != nil {
				w.eventually("it to be done after "+u.patch, or(func() error { return u.done(w) }))
			}
		})
	}
	steps = append(steps, w.deletePrimaries,
		func() { w.eventually("nothing to be left", or(w.nothingLeft)) },
		w.followsOtherRules,
		func() { w.eventually("it to run", or(w.running)) },
	)
	for _, step := range steps {
		step()
		if w.flushAudit(); len(w.refused()) > 0 {
			return
		}
	}
	w.Errorf("it did not need to %s", w.withheld)
}

// running says whether the process has begun to work.
func (w *world) running() error {
	if !w.process.ran() {
		return errors.New("it is not said")
	}
	return nil
}
