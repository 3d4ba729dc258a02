package sim_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"reconcel/sim/server"
)

// record is the answer of a real control plane to one request.
type record struct {
	Title   string         `json:"title"`
	Answer  string         `json:"answer"`
	Error   string         `json:"error,omitempty"`
	Changed bool           `json:"changed,omitempty"`
	Object  map[string]any `json:"object,omitempty"`
}

func recorded(c chapter) record {
	r := record{Title: c.title, Answer: answer(c.err), Changed: c.changed}
	if c.err != nil {
		r.Error = c.err.Error()
	}
	if c.object != nil {
		r.Object = masked(c.object)
	}
	return r
}

// recordFile is the path of the recorded answers to a story.
func recordFile(st story) string {
	return filepath.Join("testdata", "answers", strings.ReplaceAll(strings.ReplaceAll(st.name, " ", "-"), ",", "")+".json")
}

func namespaceOf(st story) string {
	return "story-" + fmt.Sprint(slices.IndexFunc(stories, func(o story) bool { return o.name == st.name }))
}

// TestGoesAsRecorded tells the stories to the cluster in memory. The answers of
// a real control plane are recorded by
//
//	go test -tags integration ./sim -run TestAgrees -update
func TestGoesAsRecorded(t *testing.T) {
	goAsRecorded(t, func(_ *testing.T, w *world) dynamic.Interface { return w.Cluster.Client("sim.test") })
}

// TestGoesAsRecordedOverHTTP tells the stories to the cluster in memory through its API over HTTP.
func TestGoesAsRecordedOverHTTP(t *testing.T) {
	goAsRecorded(t, func(t *testing.T, w *world) dynamic.Interface {
		s := httptest.NewServer(server.New(server.Options{Cluster: w.Cluster, Builtin: kinds(), Token: "token"}))
		t.Cleanup(s.Close)
		client, err := dynamic.NewForConfig(&rest.Config{Host: s.URL, BearerToken: "token", UserAgent: "sim.test/1"})
		if err != nil {
			t.Fatal(err)
		}
		return client
	})
}

func goAsRecorded(t *testing.T, clientOf func(*testing.T, *world) dynamic.Interface) {
	t.Helper()
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			data, err := os.ReadFile(recordFile(st))
			if err != nil {
				t.Fatal(err)
			}
			var want []record
			if err := utiljson.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			w.put("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespaceOf(st) + "}}")
			settle := func(map[string]dynamic.ResourceInterface) { w.Collect() }
			s := &teller{TB: t, client: clientOf(t, w), namespace: namespaceOf(st), settle: settle}
			compare(t, st, s.tell(st), want)
		})
	}
}

func compare(t *testing.T, st story, mine []chapter, theirs []record) {
	t.Helper()
	if len(mine) != len(theirs) {
		t.Fatalf("%d answers for %d requests: record the story again", len(theirs), len(mine))
	}
	for i, m := range mine {
		other := theirs[i]
		if a := answer(m.err); a != other.Answer {
			t.Errorf("%s: the answers differ:\nreal: %s\n      %s\nsim:  %s\n      %v", m.title, other.Answer, other.Error, a, m.err)
			continue
		}
		if verbatim(st) && m.err != nil && m.err.Error() != other.Error {
			t.Errorf("%s: the messages differ:\nreal: %s\nsim:  %v", m.title, other.Error, m.err)
		}
		if m.object == nil {
			continue
		}
		if m.changed != other.Changed {
			t.Errorf("%s: the resourceVersion changed: real %t, sim %t", m.title, other.Changed, m.changed)
		}
		have, want := masked(m.object), any(other.Object)
		if !custom(m.object) {
			for _, path := range missingPaths(m.object.GetKind(), want, have) {
				t.Errorf("%s: a real one has a default for %s", m.title, path)
			}
			want = common(want, have)
		}
		if diff := cmp.Diff(want, any(have)); diff != "" {
			t.Errorf("%s: the objects differ (- real, + sim):\n%s", m.title, diff)
		}
	}
}

func custom(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().Group == "sim.reconcel.dev"
}

var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// masked returns an object without the parts that differ between clusters. For built-in
// kinds, it compares only the applies in managedFields, because defaults otherwise belong
// to the creator.
func masked(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	entries := []any{}
	for _, e := range u.GetManagedFields() {
		if e.Operation == metav1.ManagedFieldsOperationApply || custom(u) {
			entries = append(entries, fmt.Sprintf("%s %s %s %q %s", e.Operation, e.Manager, e.APIVersion, e.Subresource, uids.ReplaceAllString(e.FieldsV1.GetRawString(), "masked")))
		}
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	u.SetManagedFields(nil)
	metadata := u.Object["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
		if metadata[name] != nil {
			metadata[name] = "masked"
		}
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["lastTransitionTime"] != nil {
			c["lastTransitionTime"] = "masked"
		}
	}
	if len(conditions) > 0 {
		_ = unstructured.SetNestedSlice(u.Object, conditions, "status", "conditions")
	}
	if owners, ok := metadata["ownerReferences"].([]any); ok {
		for _, o := range owners {
			o.(map[string]any)["uid"] = "masked"
		}
	}
	if spec, ok := u.Object["spec"].(map[string]any); ok && u.GetKind() == "Service" && spec["clusterIP"] != "None" {
		spec["clusterIP"], spec["clusterIPs"] = "masked", "masked"
	}
	metadata["managed"] = entries
	return u.Object
}

// common returns the parts of a control plane's object that the in-memory object has,
// too.
func common(theirs, ours any) any {
	switch o := ours.(type) {
	case map[string]any:
		t, ok := theirs.(map[string]any)
		if !ok {
			return theirs
		}
		out := map[string]any{}
		for key, value := range o {
			if v, there := t[key]; there {
				out[key] = common(v, value)
			}
		}
		return out
	case []any:
		t, ok := theirs.([]any)
		if !ok || len(t) != len(o) {
			return theirs
		}
		out := make([]any, len(o))
		for i := range o {
			out[i] = common(t[i], o[i])
		}
		return out
	}
	return theirs
}
