package ecosystem

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"reconcel/rules/syntax"
	"reconcel/test/e2e"
)

// TestManyRulesObjects measures 500 Rules objects of two rules each: the start until all are active, the time from a change
// of one to its first child, the CPU time of both, and the sizes of reconcel's ConfigMaps, which must be below the limit of
// the API.
func TestManyRulesObjects(t *testing.T) {
	if os.Getenv("RECONCEL_FIGURES") == "" {
		t.Skip("set RECONCEL_FIGURES=1 to measure")
	}
	const objects = 500
	m := serveMemory(t)
	r := newRepository(t, siteOf(m), &flux{})
	r.commit(commit{does: "the kinds"})
	r.reconcel.Kill()
	until := func(what string, state func() string, want string) {
		t.Helper()
		e2e.Eventually(t, what, r.patience, func() error {
			if got := state(); got != want {
				return fmt.Errorf("it is %q", got)
			}
			return nil
		})
	}
	text := func(i int, version string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		name := fmt.Sprintf("many%d", i)
		body := r.object(name, rule(name+"a", name+"a="+version)+rule(name+"b", name+"b="+version))
		body = strings.ReplaceAll(body, "kind: Foo}", "kind: Foo, selector: {matchLabels: {set: "+name+"}}}")
		if err := yaml.Unmarshal([]byte(body), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(r.namespace)
		return u
	}
	apply := func(u *unstructured.Unstructured) {
		t.Helper()
		if err := r.client.Patch(t.Context(), u, client.Apply, client.FieldOwner("author"), client.ForceOwnership); err != nil { //nolint:staticcheck // of any kind
			t.Fatal(err)
		}
	}
	for i := range objects {
		apply(text(i, "1"))
	}
	foo := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(r.fill("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: measured, namespace: default, labels: {set: many7}}, spec: {deploymentName: a, replicas: 1}}")), &foo.Object); err != nil {
		t.Fatal(err)
	}
	apply(foo)
	// used is the CPU time of reconcel since it was last asked.
	var before time.Duration
	used := func() time.Duration {
		t.Helper()
		stat := string(readFile(t, fmt.Sprintf("/proc/%d/stat", r.reconcel.Process.Pid)))
		fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
		var all time.Duration
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all += time.Duration(ticks) * 10 * time.Millisecond
		}
		last := before
		before = all
		return all - last
	}
	load := func() string { return strings.TrimSpace(string(readFile(t, "/proc/loadavg"))) }
	version := func() string {
		return fmt.Sprint(m.field("ConfigMap", "default", "measured-many7a", "metadata", "annotations", "version"))
	}
	began := time.Now()
	r.reconcel = nil
	r.start()
	r.reconcel.Runs()
	t.Logf("running after %v, %v of CPU (load %s)", time.Since(began), used(), load())
	until("the first child is there", version, "1")
	t.Logf("first child after %v, %v more of CPU", time.Since(began), used())
	until("all objects are Active", func() string {
		active := 0
		for _, u := range m.All() {
			if u.GetKind() == syntax.Kind && strings.Contains(fmt.Sprint(u.Object["status"]), "reason:Active") {
				active++
			}
		}
		return fmt.Sprint(active)
	}, fmt.Sprint(objects))
	t.Logf("all say Active after %v, %v more of CPU (load %s)", time.Since(began), used(), load())
	for i := range 5 {
		want := fmt.Sprint(i + 2)
		used()
		changed := time.Now()
		apply(text(7, want))
		e2e.Poll(t, "the child to have version "+want, r.patience, 5*time.Millisecond, func() error {
			child := &unstructured.Unstructured{}
			child.SetAPIVersion("v1")
			child.SetKind("ConfigMap")
			err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "measured-many7a"}, child)
			if got := child.GetAnnotations()["version"]; err == nil && got != want {
				err = fmt.Errorf("it has %q", got)
			}
			return err
		})
		t.Logf("a change of one object reaches its child after %v, %v of CPU (load %s)", time.Since(changed), used(), load())
	}
	for _, u := range m.All() {
		if u.GetKind() == "ConfigMap" && strings.HasPrefix(u.GetName(), "reconcel") {
			text, err := u.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s has %d bytes", u.GetName(), len(text))
			if len(text) > 1<<20 {
				t.Errorf("%s is larger than 1 MiB", u.GetName())
			}
		}
	}
}
