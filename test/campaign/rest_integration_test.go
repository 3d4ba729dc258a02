//go:build integration

package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// restRule renders the variants for one Box.
const restRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: rest
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box}
  allow:
    clusterScoped:
    - {group: "", kind: Namespace}
    - {group: "", kind: PersistentVolume}
    - {group: flowcontrol.apiserver.k8s.io, kind: FlowSchema}
    - {group: networking.k8s.io, kind: IngressClass}
    - {group: node.k8s.io, kind: RuntimeClass}
    - {group: rbac.authorization.k8s.io, kind: ClusterRole}
    - {group: scheduling.k8s.io, kind: PriorityClass}
    - {group: storage.k8s.io, kind: CSIDriver}
    - {group: storage.k8s.io, kind: StorageClass}
  children:
`

// variants are the templates in testdata/rest, and the process that applies them.
type variants struct {
	*e2e.World
	children map[string]schema.GroupVersionKind // by name
	process  *process
	start    func(args ...string)
}

// TestRest has templates in the spellings that an API server rewrites. Nothing is written
// at rest, each change of the spec writes each child once, fields that others add cause no
// write, and the periodic apply changes nothing.
func TestRest(t *testing.T) {
	t.Parallel()
	v := newVariants(t)
	v.Create(`{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: a}, spec: {rev: one}}`)
	v.revised("one")
	v.settles()
	rest := 2 * time.Second
	if soak.Enabled() {
		rest = time.Minute
	}
	v.silent("at rest", rest)

	since := time.Now()
	v.Patch(faultKinds["Box"], "a", `{"spec":{"rev":"two"}}`)
	v.revised("two")
	v.settles()
	v.wroteOnce(since)

	for name, kind := range v.children {
		v.Patch(kind, name, `{"metadata":{"labels":{"foreign":"x"},"annotations":{"foreign":"x"}}}`)
	}
	v.silent("when others add fields", rest)

	before := v.applied()
	v.process.Kill()
	v.start("--reapply-every=1s")
	v.reapplied(3 * len(v.children))
	for name, at := range v.applied() {
		if !at.Equal(before[name]) {
			t.Errorf("the periodic apply changed %s", name)
		}
	}
}

func newVariants(t *testing.T) *variants {
	t.Helper()
	cluster := devcluster.Start(t, devcluster.Options{})
	v := &variants{World: e2e.In(t, cluster, "default"), children: map[string]schema.GroupVersionKind{}}
	sample, err := os.ReadFile("testdata/rest/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	v.CRD(faultCRD("Box", "boxes", "Namespaced") + "---\n" + string(sample))
	rules := write(t, filepath.Join(t.TempDir(), "rules.yaml"), restRule+v.read("workloads.yaml")+v.read("others.yaml"))
	binary := e2e.Build(t)
	v.start = func(args ...string) {
		v.process = start(t, binary, "reconcel", append(args, "-f", rules, "--kubeconfig", cluster.UserKubeconfig(t, e2e.User), "--namespace", "default",
			"--listen", "127.0.0.1:0", "--leader-elect=false", "--allow-kind", strings.Join(privileged, ","))...)
		v.process.Runs()
	}
	v.start()
	return v
}

// privileged are the privileged kinds of the variants.
var privileged = []string{
	"Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io", "ClusterRole.rbac.authorization.k8s.io",
	"PriorityClass.scheduling.k8s.io", "FlowSchema.flowcontrol.apiserver.k8s.io",
}

// read returns the children that have the templates of a file. Each has a label that
// follows the spec of the Box.
func (v *variants) read(file string) string {
	v.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/rest", file))
	if err != nil {
		v.Fatal(err)
	}
	var templates map[string]map[string]any
	if err := yaml.UnmarshalStrict(text, &templates); err != nil {
		v.Fatalf("%s: %v", file, err)
	}
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(templates)) {
		template, name := templates[id], "rest-"+id
		template["metadata"] = map[string]any{"name": name, "labels": map[string]any{"rev": "${self.spec.rev}"}}
		v.children[name] = (&unstructured.Unstructured{Object: template}).GroupVersionKind()
		line, err := json.Marshal(template)
		if err != nil {
			v.Fatal(err)
		}
		fmt.Fprintf(&b, "  - {id: variant_%s, template: %s}\n", strings.ReplaceAll(id, "-", "_"), line)
	}
	return b.String()
}

// revised waits until all children follow the spec.
func (v *variants) revised(rev string) {
	v.Helper()
	e2e.Poll(v.T, "all children to have revision "+rev, e2e.Patience, time.Second, func() error {
		var missing []string
		for name, kind := range v.children {
			if u := v.Get(kind, name); u == nil || u.GetLabels()["rev"] != rev {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			box := v.Get(faultKinds["Box"], "a")
			return fmt.Errorf("%v have not, and the status is %v", missing, box.Object["status"])
		}
		return nil
	})
}

// writes returns what reconcel has written since an instant. Events and Leases do not
// count.
func (v *variants) writes(since time.Time) []devcluster.Request {
	v.Helper()
	return v.Requests(func(r devcluster.Request) bool {
		lease := r.Resource == "leases" && !strings.HasPrefix(r.Name, "rest-")
		return r.User == e2e.User && r.IsWrite() && r.Resource != "events" && !lease && !r.Received.Before(since)
	})
}

// settles waits until the status is about the current spec, and reconcel has written
// nothing for two seconds.
func (v *variants) settles() {
	v.Helper()
	v.Eventually("reconcel to come to rest", func() error {
		if err := e2e.Current(v.Get(faultKinds["Box"], "a")); err != nil {
			return err
		}
		if found := v.writes(time.Now().Add(-2 * time.Second)); len(found) > 0 {
			return fmt.Errorf("it wrote %v", devcluster.Tally(found))
		}
		return nil
	})
}

func (v *variants) silent(when string, d time.Duration) {
	v.Helper()
	since := time.Now()
	v.Rest(d)
	for _, r := range v.writes(since) {
		v.Errorf("%s, it wrote %s %s: %d %s", when, r, r.Name, r.Code, r.Message)
	}
}

// wroteOnce checks that each child was written once.
func (v *variants) wroteOnce(since time.Time) {
	v.Helper()
	counts := map[string]int{}
	for _, r := range v.writes(since) {
		if _, ours := v.children[r.Name]; ours {
			counts[r.Name]++
		}
	}
	for name := range v.children {
		if counts[name] != 1 {
			v.Errorf("%s was written %d times for one change", name, counts[name])
		}
	}
	v.Logf("%d children of %d kinds, each written once for a change", len(counts), len(v.kinds()))
}

func (v *variants) kinds() map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, kind := range v.children {
		kinds[kind] = true
	}
	return kinds
}

// applied returns when reconcel last changed each child, by its managedFields entry.
// Others change the resourceVersion, too.
func (v *variants) applied() map[string]time.Time {
	v.Helper()
	all := map[string]time.Time{}
	for name, kind := range v.children {
		for _, m := range v.Get(kind, name).GetManagedFields() {
			if m.Manager == "reconcel" && m.Operation == metav1.ManagedFieldsOperationApply {
				all[name] = m.Time.Time
			}
		}
	}
	if len(all) != len(v.children) {
		v.Fatalf("reconcel has applied only %d of %d children", len(all), len(v.children))
	}
	return all
}

// reapplied waits until the periodic apply has made some writes that changed nothing.
func (v *variants) reapplied(times int) {
	v.Helper()
	v.Eventually(fmt.Sprintf("%d applies that change nothing", times), func() error {
		total := 0.0
		for name, value := range v.process.metrics(v.T).values {
			if strings.HasPrefix(name, "reconcel_noop_writes_total{") {
				total += value
			}
		}
		if total < float64(times) {
			return errors.New(fmt.Sprint("so far ", total))
		}
		return nil
	})
}
