//go:build integration

package sim_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"reconcel/test/devcluster"
)

var update = flag.Bool("update", false, "record the answers of the control plane")

func writeRecord(t *testing.T, st story, answers []record) {
	t.Helper()
	data, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(recordFile(st)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordFile(st), append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// controllers are the ones that the in-memory cluster implements, too.
const controllers = "garbage-collector-controller,namespace-controller"

func TestAgreesWithARealControlPlane(t *testing.T) {
	control := devcluster.Start(t, devcluster.Options{Controllers: controllers, Without: []string{devcluster.Kwok, devcluster.Scheduler}})
	if !control.IsNewest(t) {
		t.Skip("the cluster in memory is like the newest minor: a HorizontalPodAutoscaler has a generation since 1.37, for example")
	}
	client, err := dynamic.NewForConfig(control.Config())
	if err != nil {
		t.Fatal(err)
	}
	defineWidgets(t, client)
	account := parse(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}")
	accounts := client.Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace("default")
	if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Run("what is marked ready", func(t *testing.T) { testReady(t, client) })
	for _, st := range stories {
		t.Run(st.name, func(t *testing.T) {
			w := newWorld(t)
			namespace := namespaceOf(st)
			ns := parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
			w.put("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}")
			namespaces := client.Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
			if _, err := namespaces.Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			ours := &teller{TB: t, client: w.Cluster.Client("sim.test"), namespace: namespace}
			theirs := &teller{TB: t, client: client, namespace: namespace}
			var ended []map[string]bool
			ours.settle = func(known map[string]dynamic.ResourceInterface) {
				w.Collect()
				ended = append(ended, presence(t, known))
			}
			mine := ours.tell(st)
			theirs.settle = func(known map[string]dynamic.ResourceInterface) {
				want := ended[0]
				ended = ended[1:]
				awaitPresence(t, known, want)
			}
			var answers []record
			for _, c := range theirs.tell(st) {
				answers = append(answers, recorded(c))
			}
			if *update {
				writeRecord(t, st, answers)
			}
			compare(t, st, mine, answers)
		})
	}
}

func defineWidgets(t *testing.T, client dynamic.Interface) {
	t.Helper()
	crds, err := widgetCRDs()
	if err != nil {
		t.Fatal(err)
	}
	resource := client.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, crd := range crds {
		if _, err := resource.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"widgets", "gadgets", "gizmos", "gauges", "valves", "fleets"} {
		gvr := runtimeschema.GroupVersionResource{Group: "sim.reconcel.dev", Version: "v1", Resource: name}
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
			_, err := client.Resource(gvr).List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
		if err != nil {
			t.Fatalf("%s are not served: %v", name, err)
		}
	}
}

// presence reports the objects of the story that exist, and whether each is in deletion.
func presence(t *testing.T, known map[string]dynamic.ResourceInterface) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for subject, client := range known {
		_, name, _ := strings.Cut(subject, "/")
		u, err := client.Get(context.Background(), name, metav1.GetOptions{})
		if err == nil {
			out[fmt.Sprintf("%s terminating=%t owners=%d", subject, u.GetDeletionTimestamp() != nil, len(u.GetOwnerReferences()))] = true
		} else if !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	return out
}

// collectorPatience exceeds the time that the garbage collector takes to discover a new
// kind.
const collectorPatience = time.Minute

func awaitPresence(t *testing.T, known map[string]dynamic.ResourceInterface, want map[string]bool) {
	t.Helper()
	var have map[string]bool
	_ = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, collectorPatience, true, func(context.Context) (bool, error) {
		have = presence(t, known)
		return maps.Equal(have, want), nil
	})
	if diff := cmp.Diff(have, want); diff != "" {
		t.Errorf("what is there differs (- real, + sim):\n%s", diff)
	}
}
