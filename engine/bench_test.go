package engine

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"reconcel/engine/access"
	"reconcel/engine/ident"
	"reconcel/engine/inventory"
	"reconcel/engine/plan"
	"reconcel/engine/queue"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/source"
)

const convergedFoo = `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo",
"metadata":{"name":"example","namespace":"default","uid":"u1","generation":2,"resourceVersion":"10"},
"spec":{"deploymentName":"web","replicas":3},"status":{"availableReplicas":3}}`

// ownedOfFoo lists the fields of convergedFoo's status that reconcel owns.
const ownedOfFoo = `{"f:status":{"f:availableReplicas":{}}}`

const deploymentStatus = `{"observedGeneration":1,"replicas":3,"updatedReplicas":3,"readyReplicas":3,"availableReplicas":3,
"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}`

// converged returns an engine without a server. Its caches hold one Foo and its
// Deployment as the rules want them.
func converged(tb testing.TB) (*Engine, ident.Request) {
	tb.Helper()
	src, err := os.ReadFile("../examples/foo/rules.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: src}})
	if err != nil {
		tb.Fatal(err)
	}
	e := connectParts(&access.Shared{
		Options: access.Options{}.WithDefaults(), Log: slog.New(slog.DiscardHandler), Clock: clock.RealClock{},
		Queue: queue.NewQueue(clock.RealClock{}, plan.NewQueueMetrics(prometheus.NewRegistry())), Memories: access.Memories{Of: map[ident.Request]*access.Memory{}},
	})
	e.program = program
	e.Metrics = plan.NewMetrics(prometheus.NewRegistry(), e.Queue.Len)
	e.Plan.Store(e.Router.Route(plan.NewPlan("", plan.AllActive(program), inventory.Orphaned{}, nil)))
	foo := owning(tb, decode(tb, []byte(convergedFoo)), watch.Primary, ownedOfFoo)

	deployment, fieldsV1 := appliedDeployment(tb, program, foo)
	deployment.SetGeneration(1)
	deployment.Object["status"] = decode(tb, []byte(deploymentStatus)).Object
	owning(tb, deployment, watch.Child, fieldsV1)

	for _, w := range e.Plan.Load().Watches {
		show(tb, w, ident.Kind{GVK: w.GVK, Namespaced: true, Status: true}, map[watch.Role]*unstructured.Unstructured{watch.Primary: foo, watch.Child: deployment}[w.Role])
	}
	return e, ident.Request{Kind: program.Primaries()[0].GVK.GroupKind(), Namespace: "default", Name: "example", UID: "u1"}
}

// appliedDeployment returns what is applied for a Foo, and the fields of it that reconcel owns.
func appliedDeployment(tb testing.TB, program *rules.Program, foo *unstructured.Unstructured) (deployment *unstructured.Unstructured, fieldsV1 string) {
	tb.Helper()
	var r rules.Rendering
	program.Primaries()[0].Render(rules.Input{Self: foo.Object, Observed: func(rules.Identity) rules.Live { return rules.Live{} }}, &r)
	d := &r.Rules[0].Children[0].Objects[0]
	if d.State != rules.Rendered {
		tb.Fatalf("the Deployment is not rendered: %v", d.Err)
	}
	deployment = decode(tb, d.AppendApply(nil, "u2", "11"))
	fields, err := fieldpath.SetFromValue(value.NewValueInterface(deployment.Object)).ToJSON()
	if err != nil {
		tb.Fatal(err)
	}
	return deployment, string(fields)
}

// stored returns an object of a cache as the API server has it: a cache keeps the controller
// apart.
func stored(o *watch.Object) *unstructured.Unstructured {
	u := o.DeepCopy()
	if owner, controlled := o.Controller(); controlled {
		version := schema.GroupVersion{Group: owner.Kind.Group, Version: "v1"}.String()
		u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: version, Kind: owner.Kind.Kind, Name: owner.Name, UID: owner.UID, Controller: new(true)}})
	}
	return u
}

// TestConvergedSendsNothing would panic on any request: the engine has no client.
func TestConvergedSendsNothing(t *testing.T) {
	e, req := converged(t)
	for range 3 {
		result, err := e.Reconciler.Reconcile(t.Context(), req)
		if err != nil || result.RequeueAfter != 0 {
			t.Fatalf("result %v, error %v", result, err)
		}
	}
}

// BenchmarkNoopReconcile measures the reconciliation of a converged Foo.
func BenchmarkNoopReconcile(b *testing.B) {
	e, req := converged(b)
	ctx := context.Background()
	if _, err := e.Reconciler.Reconcile(ctx, req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Reconciler.Reconcile(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
}
