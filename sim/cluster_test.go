package sim_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/outcome"
	"reconcel/rules/kstatus"
	"reconcel/sim"
)

const aConfigMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}"

func TestTheSameRequestsMakeTheSameCluster(t *testing.T) {
	story := func() string {
		w := newWorld(t)
		w.apply("alice", aConfigMap)
		w.put("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: g-}}")
		w.put("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: g-}}")
		w.put("{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}")
		data, err := json.Marshal(w.All())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if diff := cmp.Diff(story(), story()); diff != "" {
		t.Error(diff)
	}
}

func TestAUIDDependsOnTheNameAndNotOnWhatElseIsThere(t *testing.T) {
	one, two := newWorld(t), newWorld(t)
	two.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	a, b := one.apply("alice", aConfigMap), two.apply("alice", aConfigMap)
	if a.GetUID() != b.GetUID() {
		t.Errorf("%s and %s", a.GetUID(), b.GetUID())
	}
	if err := two.of(configMap).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if again := two.apply("alice", aConfigMap); again.GetUID() == b.GetUID() {
		t.Error("an object has the UID of the one before it")
	}
}

func TestTheTimeIsThatOfTheClock(t *testing.T) {
	w := newWorld(t)
	first := w.apply("alice", aConfigMap)
	w.clock.Step(time.Hour)
	second := w.apply("bob", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {l: w}}")
	if got := second.GetCreationTimestamp(); !got.Time.Equal(w.clock.Now().Add(-time.Hour)) {
		t.Errorf("created at %s", got)
	}
	times := map[string]time.Time{}
	for _, e := range second.GetManagedFields() {
		times[e.Manager] = e.Time.UTC()
	}
	want := map[string]time.Time{"alice": first.GetCreationTimestamp().UTC(), "bob": w.clock.Now().UTC()}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("managedFields (-want +got):\n%s", diff)
	}
	w.clock.Step(time.Hour)
	if third := w.apply("bob", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {l: w}}"); third.GetResourceVersion() != second.GetResourceVersion() {
		t.Error("an apply that changes nothing has changed the object an hour later")
	}
}

func TestWritesAreListedWithWhatCameOfThem(t *testing.T) {
	w := newWorld(t)
	w.apply("alice", aConfigMap)
	w.apply("alice", aConfigMap)
	if _, err := w.tryApply("bob", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}"); !apierrors.IsConflict(err) {
		t.Fatalf("a conflict was expected: %v", err)
	}
	if _, err := w.of(configMap).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"data": {"k": "x"}}`),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	if err := w.of(configMap).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	type line struct {
		By, Verb, Name string
		Changed, OK    bool
	}
	var got []line
	for _, x := range w.Writes() {
		got = append(got, line{x.By, x.Verb, x.Kind.Kind + "/" + x.Namespace + "/" + x.Name, x.Changed, x.Err == nil})
	}
	const name = "ConfigMap/default/a"
	want := []line{{"tester", "apply", name, true, true}, {"tester", "apply", name, false, true}, {"tester", "apply", name, false, false}, {"tester", "delete", name, true, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADryRunAnswersAndStoresNothing(t *testing.T) {
	w := newWorld(t)
	w.apply("alice", aConfigMap)
	force := true
	for _, body := range []string{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"other"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`} {
		name := "a"
		if strings.Contains(body, `"b"`) {
			name = "b"
		}
		before := w.Version()
		out, err := w.of(configMap).Patch(t.Context(), name, types.ApplyPatchType, []byte(body),
			metav1.PatchOptions{FieldManager: "bob", Force: &force, DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Fatal(err)
		}
		if name == "a" && field(out, "data", "k") != "other" {
			t.Errorf("the answer is %v", out.Object)
		}
		if w.Version() != before || w.there(configMap, "b") {
			t.Errorf("a dry run of %s was stored", body)
		}
	}
}

func TestRequestsFailAsOrdered(t *testing.T) {
	w := newWorld(t)
	w.Fail(sim.Failure{Verb: "apply", Kind: configMap.GroupKind(), Name: "a", Times: 2, Err: apierrors.NewTooManyRequests("later", 1)})
	w.Fail(sim.Failure{Verb: "delete", Err: errors.New("connection reset"), Lost: true})
	w.apply("alice", "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")
	for range 2 {
		if _, err := w.tryApply("alice", aConfigMap); !apierrors.IsTooManyRequests(err) {
			t.Fatalf("got %v", err)
		}
	}
	if w.there(configMap, "a") {
		t.Error("an apply that failed has made the object")
	}
	w.apply("alice", aConfigMap)
	if err := w.of(configMap).Delete(t.Context(), "a", metav1.DeleteOptions{}); err == nil || err.Error() != "connection reset" {
		t.Errorf("got %v", err)
	}
	if w.there(configMap, "a") {
		t.Error("a delete whose answer was lost has not happened")
	}
	if left := w.Pending(); len(left) != 0 {
		t.Errorf("not used up: %+v", left)
	}
}

func TestListsAreSelectedAndSorted(t *testing.T) {
	w := newWorld(t)
	w.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {tier: web}}}")
	w.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: web}}}")
	w.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {tier: db}}}")
	w.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: elsewhere, labels: {tier: web}}}")
	all := w.client.Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	for selector, want := range map[string][]string{
		"tier=web": {"default/a", "default/b", "elsewhere/a"}, "tier!=web": {"default/c"}, "none": nil,
	} {
		list, err := all.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range list.Items {
			got = append(got, u.GetNamespace()+"/"+u.GetName())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", selector, diff)
		}
	}
	one, err := all.Namespace("default").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
	if err != nil || len(one.Items) != 1 || one.GetResourceVersion() != w.Version() {
		t.Errorf("%v, %v", one, err)
	}
}

// TestValuesThatCannotBeRead expects the API server's answer to an apply with a quantity that is none: it tells reconcel
// that a repetition cannot help.
func TestValuesThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: SIZE}}}}"
	const want = "failed to convert new object (/x; /v1, Kind=PersistentVolumeClaim) to proper version: unable to convert unstructured object to " +
		"/v1, Kind=PersistentVolumeClaim: quantities must match the regular expression "
	for _, when := range []string{"is new", "exists"} {
		_, err := w.tryApply("alice", strings.Replace(claim, "SIZE", "much", 1))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !outcome.IsRejection(err) {
			t.Errorf("if the claim %s: %v", when, err)
		}
		w.apply("alice", strings.Replace(claim, "SIZE", "1Gi", 1))
	}
}

func TestAKindWithoutSchemaKeepsEverything(t *testing.T) {
	w := newWorld(t)
	mystery := runtimeschema.GroupVersionKind{Group: "other.example.com", Version: "v1", Kind: "Mystery"}
	text := "{apiVersion: other.example.com/v1, kind: Mystery, metadata: {name: m}, spec: {a: [1, {b: c}]}, status: {d: 1.5}}"
	u := w.apply("alice", text)
	if w.apply("alice", text).GetResourceVersion() != u.GetResourceVersion() {
		t.Error("the same apply has changed it")
	}
	if got, want := owned(u, "alice"), `{"f:spec":{".":{},"f:a":{}},"f:status":{".":{},"f:d":{}}}`; got != want {
		t.Errorf("owned: %s", got)
	}
	if u = w.merge(mystery, "m", `{"spec": {"a": null}}`); u.GetGeneration() != 2 || field(u, "spec", "a") != nil {
		t.Errorf("%v", u.Object)
	}
}

func TestAnUnknownKindIsNotServed(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.Resource(runtimeschema.GroupVersionResource{Group: "no.example.com", Version: "v1", Resource: "things"}).Get(t.Context(), "x", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		t.Errorf("got %v", err)
	}
}

func TestCreatedObjectKeepsItsStatus(t *testing.T) {
	w := newWorld(t)
	u := w.put("{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: w, namespace: made, uid: 8e9d6eb6-0000-0000-0000-000000000000}, spec: {size: small}, status: {phase: New, unknown: 1}}")
	if field(u, "status", "phase") != "New" || field(u, "status", "unknown") != nil || field(u, "spec", "replicas") != int64(1) {
		t.Errorf("%v", u.Object)
	}
	if u.GetUID() != "8e9d6eb6-0000-0000-0000-000000000000" || !w.there(namespace, "made") {
		t.Errorf("%v", u.Object)
	}
	if n := len(w.Writes()); n != 0 {
		t.Errorf("%d writes are listed", n)
	}
}

// TestAGivenObjectKeepsWhatItSaysAboutItself puts objects as kubectl get prints them.
func TestAGivenObjectKeepsWhatItSaysAboutItself(t *testing.T) {
	w := newWorld(t)
	const metadata = `name: NAME, generation: 7, creationTimestamp: "2026-05-01T00:00:00Z"`
	deployment := func(name, more string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {" + strings.Replace(metadata, "NAME", name, 1) + more + "}, " +
			"spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}, " +
			`status: {observedGeneration: 7, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: "True"}]}}`
	}
	u := w.put(deployment("d", ""))
	if got, why := kstatus.Judge(u.GroupVersionKind().GroupKind(), u.Object); got != kstatus.Ready {
		t.Errorf("readiness %v (%s)", got, why)
	}
	if u.GetGeneration() != 7 || u.GetCreationTimestamp().UTC().Format(time.DateOnly) != "2026-05-01" {
		t.Errorf("generation %d, created %s", u.GetGeneration(), u.GetCreationTimestamp())
	}
	if u = w.merge(u.GroupVersionKind(), "d", `{"spec": {"replicas": 2}}`); u.GetGeneration() != 8 {
		t.Errorf("changed: generation %d", u.GetGeneration())
	}
	if u = w.put(deployment("deleted", `, finalizers: [x.dev/a], deletionTimestamp: "2026-05-02T00:00:00Z"`)); u.GetDeletionTimestamp() == nil {
		t.Error("it has finalizers, and is not being deleted")
	}
	if u = w.put(deployment("gone", `, deletionTimestamp: "2026-05-02T00:00:00Z"`)); u.GetDeletionTimestamp() != nil {
		t.Error("it has no finalizers, and is being deleted")
	}
	u = w.put(`{apiVersion: v1, kind: ConfigMap, metadata: {name: later, generation: 3, creationTimestamp: "2031-01-01T00:00:00Z"}}`)
	if u.GetGeneration() != 0 || u.GetCreationTimestamp().Year() != 2030 {
		t.Errorf("a ConfigMap: generation %d, created %s", u.GetGeneration(), u.GetCreationTimestamp())
	}
}

func TestChangesComeInOrder(t *testing.T) {
	w := newWorld(t)
	w.apply("alice", aConfigMap)
	w.apply("alice", aConfigMap)
	w.merge(configMap, "a", `{"data": {"k": "w"}}`)
	if err := w.of(configMap).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range w.Changes(0) {
		switch {
		case c.Old == nil:
			got = append(got, "added")
		case c.New == nil:
			got = append(got, "deleted")
		default:
			got = append(got, "changed")
		}
	}
	if diff := cmp.Diff([]string{"added", "changed", "deleted"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rest := w.Changes(2); len(rest) != 1 || rest[0].Version != w.Version() {
		t.Errorf("%v", rest)
	}
}

func TestObjectsAreMarkedReady(t *testing.T) {
	w := newWorld(t)
	w.put("{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}")
	w.put("{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: i}]}}")
	w.put("{apiVersion: sim.reconcel.dev/v1, kind: Widget, metadata: {name: x}, spec: {size: small}}")
	for _, gvk := range []runtimeschema.GroupVersionKind{deployment, pod, widget} {
		if err := w.MarkReady(gvk, "default", "x"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		gvk  runtimeschema.GroupVersionKind
		path string
		want any
	}{
		{deployment, "availableReplicas", int64(3)}, {deployment, "observedGeneration", int64(1)},
		{pod, "phase", "Running"}, {widget, "observedGeneration", int64(1)},
	} {
		if got := field(w.Find(c.gvk.GroupKind(), "default", "x"), "status", c.path); got != c.want {
			t.Errorf("%s: %s is %v and not %v", c.gvk.Kind, c.path, got, c.want)
		}
	}
	w.put(aConfigMap)
	if err := w.MarkReady(configMap, "default", "a"); err == nil {
		t.Error("a ConfigMap has been marked ready")
	}
	if err := w.MarkReady(pod, "default", "absent"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestEventsAreKept(t *testing.T) {
	w := newWorld(t)
	w.Record(corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}, "Warning", "Broken", "Look", "1 of 2")
	got := w.Events()
	if len(got) != 1 || got[0].Note != "1 of 2" || got[0].Reason != "Broken" || got[0].About.Name != "a" || !got[0].Time.Equal(w.clock.Now()) {
		t.Errorf("%+v", got)
	}
}

func BenchmarkApply(b *testing.B) {
	cluster, err := sim.New(sim.Options{Kinds: kinds()})
	if err != nil {
		b.Fatal(err)
	}
	client := cluster.Client("bench").Resource(deployment.GroupVersion().WithResource("deployments")).Namespace("default")
	body := []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}}}`)
	force := true
	b.ResetTimer()
	for b.Loop() {
		if _, err := client.Patch(b.Context(), "d", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "m", Force: &force}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := sim.New(sim.Options{Kinds: kinds()}); err != nil {
			b.Fatal(err)
		}
	}
}
