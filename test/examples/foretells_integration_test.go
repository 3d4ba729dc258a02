//go:build integration

package examples

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// childless are kinds whose objects own no other objects. Their deletion deletes nothing
// else.
var childless = []string{"ConfigMap", "Ingress", "NetworkPolicy", "Pod", "ResourceQuota", "Secret", "Service", "ServiceAccount"}

// foretells compares the output of diff with the writes of run: first undisturbed, then
// after an edit of every child and the deletion of one.
func (w *world) foretells(reference state) {
	w.Helper()
	if w.Cluster.Borrowed() {
		w.Log("a borrowed cluster has no audit log: what diff foretells is not compared")
		return
	}
	if w.withheld != (access{}) {
		return // Other tests of the same example use the same cluster, and diff reads all of it.
	}
	w.process.end()
	if foretold, skipped := w.foretold(); len(foretold)+len(skipped) > 0 {
		w.Errorf("undisturbed, diff foretells %v and skips %v", foretold, skipped)
	}
	disturbed := w.disturb()
	foretold, skipped := w.foretold()
	since := time.Now()
	w.start(w.account.kubeconfig)
	w.process.await()
	w.eventually("it to be mended", func() error { return w.is(reference) })
	w.settled()
	w.FlushAudit()
	requests, err := w.Cluster.Requests(func(r devcluster.Request) bool {
		return (r.User == w.account.user || w.deputy != nil && r.User == w.deputy.user) && !r.Received.Before(since)
	})
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(foretold, e2e.Done(requests), cmpopts.EquateEmpty()); diff != "" || len(foretold) == 0 && len(disturbed) > 0 {
		w.Errorf("after %v, diff and run differ (-foretold +written):\n%s", disturbed, diff)
	}
	w.Logf("foretold and written: %d changes after %d disturbances, and none before; %d skipped", len(foretold), len(disturbed), len(skipped))
}

// disturb edits the children as others may while reconcel is stopped.
func (w *world) disturb() (done []string) {
	w.Helper()
	for _, u := range w.disturbances {
		w.update(u)
		done = append(done, u.patch)
	}
	made := w.made()
	for i := range made {
		u := &made[i]
		c := w.childOf(u.GetLabels())
		switch {
		case c.OnChange == "keep":
		case i > 0 && i == len(made)-1 && slices.Contains(childless, u.GetKind()):
			w.delete(u)
			w.gone(u.GetAPIVersion(), u.GetKind(), strings.TrimPrefix(u.GetNamespace()+"/"+u.GetName(), "/"))
			done = append(done, describe(u)+": deleted")
		default:
			done = append(done, describe(u)+": "+w.edit(*u, c))
		}
	}
	return done
}

// foretold returns the writes that diff predicts, and those that it skips.
func (w *world) foretold() (changes, skipped []e2e.Change) {
	w.Helper()
	args := append([]string{"diff", "--kubeconfig", w.Cluster.Kubeconfig(), "-o", "json"}, w.followed()...)
	for _, file := range w.files {
		args = append(args, "-f", file)
	}
	cmd := exec.Command(w.binary, args...)
	cmd.Env = e2e.Environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
		w.Fatalf("diff: %v\n%s", err, stderr.String())
	}
	return e2e.Foretold(w.T, stdout.Bytes())
}
