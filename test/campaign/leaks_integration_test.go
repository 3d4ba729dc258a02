//go:build integration

package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/e2e"
	"reconcel/test/oracle"
)

// showings are the texts that a run with generated values produces, apart from the data of
// Secrets.
type showings map[string]string // by what shows them

// show adds what the process and the commands show after a step.
func (r *faultRun) show(to showings, step int) {
	r.Helper()
	if len(r.Values) == 0 {
		return
	}
	note := func(what, text string) { to[fmt.Sprintf("%s after step %d", what, step)] = text }
	r.control.process.Runs() // It may have been started a moment ago.
	p := &process{r.control.process}
	for _, page := range []string{"/metrics", "/readyz"} {
		_, body := p.get(r.T, page)
		note(page, body)
	}
	_, body := p.getFrom(r.T, debugListens, "/debug/rules")
	note("/debug/rules", body)
	for what, args := range r.commands() {
		note(what, r.output(args))
	}
}

// commands are commands about the state of the run.
func (r *faultRun) commands() map[string][]string {
	r.Helper()
	folder, cluster := r.TempDir(), []string{"--kubeconfig", r.world.Cluster.Kubeconfig()}
	rules := r.placeholders.Replace(r.Rules)
	file := write(r.T, filepath.Join(folder, "rules.yaml"), rules)
	// The children are as rendered, so only changed rules make diff show them.
	changed := write(r.T, filepath.Join(folder, "changed.yaml"), strings.ReplaceAll(rules, "${self.spec.value}", "${self.spec.value}-changed"))
	primaries, others := r.manifests()
	offline := []string{"-f", file, "-r", write(r.T, filepath.Join(folder, "primaries.yaml"), primaries), "--observed", write(r.T, filepath.Join(folder, "observed.yaml"), others)}
	return map[string][]string{
		"diff":           slices.Concat([]string{"diff", "-f", file}, cluster),
		"diff of change": slices.Concat([]string{"diff", "-f", changed}, cluster),
		"diff -o json":   slices.Concat([]string{"diff", "-o", "json", "-f", changed}, cluster),
		"plan":           slices.Concat([]string{"plan", "-f", changed, "--installation", "default/" + r.control.name}, cluster),
		"plan -o json":   slices.Concat([]string{"plan", "-o", "json", "-f", changed, "--installation", "default/" + r.control.name}, cluster),
		"status":         slices.Concat([]string{"status", "--all", "-o", "json", "-f", file}, cluster),
		"tree":           slices.Concat([]string{"tree", "-o", "json", "-f", file, "-n", r.namespace, "box.faults.reconcel.dev/a"}, cluster),
		"graph":          slices.Concat([]string{"graph", "-f", file, "-n", r.namespace, "box.faults.reconcel.dev/a"}, cluster),
		"render":         append([]string{"render"}, offline...),
	}
}

// manifests returns the existing objects of the run as manifests.
func (r *faultRun) manifests() (primaries, others string) {
	r.Helper()
	var of [2]strings.Builder
	for key := range r.seen.Versions() {
		u := r.seen.Live(key)
		if u == nil {
			continue
		}
		text, err := json.Marshal(u.Object)
		if err != nil {
			r.Fatal(err)
		}
		to := &of[1]
		if key.Kind == "Box" {
			to = &of[0]
		}
		fmt.Fprintf(to, "---\n%s\n", text)
	}
	return of[0].String(), of[1].String()
}

// wrongUsage is the exit code of a command that does nothing, because of its arguments.
const wrongUsage = 2

// output returns what a command prints. It may fail: after the last step there is nothing to
// show.
func (r *faultRun) output(args []string) string {
	r.Helper()
	command := exec.Command(r.stage.binary, args...)
	command.Env = e2e.Environment()
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); command.ProcessState == nil {
		r.Fatalf("%v: %v", args, err)
	}
	if command.ProcessState.ExitCode() == wrongUsage {
		r.Fatalf("%v: %s", args, &out)
	}
	return out.String()
}

// leaks returns where a generated value is shown: in what was collected, in logs, in any
// version of any object apart from the data of Secrets, in Events and Leases, or in the
// report of the run itself.
func (r *faultRun) leaks(to showings, report []string) []string {
	r.Helper()
	values := r.seen.Values()
	if len(values) == 0 {
		return nil
	}
	for i, p := range r.control.processes {
		to[fmt.Sprintf("the log of process %d", i+1)] = p.Log()
	}
	for _, resource := range []schema.GroupVersionResource{{Group: "events.k8s.io", Version: "v1", Resource: "events"}, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}} {
		list, err := r.world.Client.Resource(resource).List(r.Context(), metav1.ListOptions{})
		if err != nil {
			r.Fatal(err)
		}
		text, err := list.MarshalJSON()
		if err != nil {
			r.Fatal(err)
		}
		to[resource.Resource] = string(text)
	}
	maps.Copy(to, r.seen.Texts())
	to["the report of the run"] = strings.Join(report, "\n")
	return oracle.Leaks(values, to)
}
