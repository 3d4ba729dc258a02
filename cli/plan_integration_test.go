//go:build integration

package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// planEdits change gadgetRules, which TestDiffForetellsWhatRunWrites uses too.
var planEdits = []struct {
	name    string
	replace []string
}{
	{"a value", []string{`data: {a: "1"}}`, `data: {a: "2"}}`}},
	{"a Pod template", []string{"image: nginx\n", "image: nginx:1.29\n"}},
	{"a name", []string{"-settings", "-configuration"}},
	{"a shorter list", []string{`in: "self.spec.?names.orValue([])"`, `in: "self.spec.?names.orValue([]).filter(n, n != 'a')"`}},
	{"a removed rule", []string{`- name: guard
  for: {apiVersion: foretell.example.com/v1, kind: Gadget, selector: {matchLabels: {guard: "yes"}}}
  teardown: ordered
  children:
  - id: guarded
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-guarded"}}
`, ""}},
}

// TestPlanForetellsReload edits the rules of a running process five times, and compares what
// plan says before with what the process writes after.
func TestPlanForetellsReload(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"reviewer:system:masters"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), kubeconfig: cluster.UserKubeconfig(t, "reviewer"), folder: t.TempDir()}
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster has no audit log")
	}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("crd.yaml", gadgetCRD))
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	var gadgets []string
	for i := range 20 {
		gadgets = append(gadgets, fmt.Sprintf("apiVersion: foretell.example.com/v1\nkind: Gadget\nmetadata: {name: g%d, labels: {gadget: 'yes', guard: 'yes'}}\nspec: {size: '1', names: [a, b]}\n", i))
	}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("gadgets.yaml", strings.Join(gadgets, "---\n")))
	active := r.rules("active.yaml", gadgetRules)
	stop := r.run(active)
	defer stop()
	r.settled(0, active)
	before, text := r.rules("before.yaml", gadgetRules), gadgetRules
	for i, edit := range planEdits {
		t.Run(edit.name, func(t *testing.T) {
			after := r.rules(fmt.Sprintf("after-%d.yaml", i), text, edit.replace...)
			foretold := r.planned("-f", after, "--against", before)
			if diff := cmp.Diff(foretold, r.planned("-f", after, "--no-dry-run")); diff != "" {
				t.Errorf("without dry runs and against the live state (-with +without):\n%s", diff)
			}
			since := time.Now()
			r.rules("active.yaml", text, edit.replace...)
			r.settled(0, after)
			if diff := cmp.Diff(r.written(since), foretold, cmpopts.EquateEmpty()); diff != "" || len(foretold) == 0 {
				t.Errorf("plan and run differ (-written +planned):\n%s", diff)
			}
			before = after
			text = strings.NewReplacer(edit.replace...).Replace(text)
		})
	}
}

// planned returns the changes that plan foretells, except those of the status.
func (r *reviewer) planned(args ...string) (all []string) {
	r.Helper()
	cmd := exec.Command(r.binary, append([]string{"plan", "--kubeconfig", r.kubeconfig, "-o", "json"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
		r.Fatalf("plan: %v\n%s%s", err, stderr.String(), stdout.String())
	}
	type group struct {
		Action, Kind, Part string
		Objects            []string
	}
	var report struct{ Risks, Changes []group }
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		r.Fatal(err)
	}
	for _, g := range slices.Concat(report.Risks, report.Changes) {
		for _, object := range g.Objects {
			if g.Part != "status" && g.Action != "orphaned" {
				all = append(all, g.Action+" "+strings.ToLower(g.Kind)+"s/"+object)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// written returns the writes of run since an instant.
func (r *reviewer) written(since time.Time) (all []string) {
	r.Helper()
	e2e.Rest(r.T, time.Second) // The audit log lags a little.
	found, err := r.cluster.Requests(func(q devcluster.Request) bool { return q.User == "reconcel" && !q.Received.Before(since) })
	if err != nil {
		r.Fatal(err)
	}
	for _, c := range e2e.Done(found) {
		all = append(all, c.Action+" "+c.Resource+"/"+c.Namespace+"/"+c.Name)
	}
	slices.Sort(all)
	return all
}
