package ecosystem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// What follows, up to the tests, is in the form in which kubebuilder generates it and its book completes it.

type GadgetSpec struct {
	Size  int32  `json:"size"`
	Image string `json:"image,omitempty"`
}

type GadgetStatus struct {
	Ready      int32              `json:"ready,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              GadgetSpec   `json:"spec"`
	Status            GadgetStatus `json:"status,omitzero"`
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), g.Status.Conditions...)
	return &out
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Gadget `json:"items"`
}

func (l *GadgetList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = nil
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Gadget))
	}
	return &out
}

var (
	gadgetVersion = runtimeschema.GroupVersion{Group: "ecosystem.example.com", Version: "v1"}
	gadgetBuilder = (&scheme.Builder{GroupVersion: gadgetVersion}).Register(&Gadget{}, &GadgetList{}) //nolint:staticcheck // as kubebuilder generates it
)

const gadgetFinalizer = "ecosystem.example.com/finalizer"

type GadgetReconciler struct {
	client.Client
	Scheme   *runtime.Scheme
	Recorder record.EventRecorder

	mu    sync.Mutex
	freed []string // what the finalizer has been run for
}

func (r *GadgetReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	gadget := &Gadget{}
	if err := r.Get(ctx, req.NamespacedName, gadget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !gadget.DeletionTimestamp.IsZero() {
		if controllerutil.ContainsFinalizer(gadget, gadgetFinalizer) {
			r.mu.Lock()
			r.freed = append(r.freed, gadget.Name)
			r.mu.Unlock()
			controllerutil.RemoveFinalizer(gadget, gadgetFinalizer)
			return ctrl.Result{}, r.Update(ctx, gadget)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(gadget, gadgetFinalizer) {
		if err := r.Update(ctx, gadget); err != nil {
			return ctrl.Result{}, err
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: gadget.Name, Namespace: gadget.Namespace}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"gadget": gadget.Name}
		deployment.Spec.Replicas = new(gadget.Spec.Size)
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "gadget"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = gadget.Spec.Image
		return controllerutil.SetControllerReference(gadget, deployment, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if done != controllerutil.OperationResultNone {
		r.Recorder.Eventf(gadget, corev1.EventTypeNormal, "Reconciled", "Deployment %s is %s", deployment.Name, done)
	}
	ready := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "Progressing", ObservedGeneration: gadget.Generation,
		Message: fmt.Sprintf("%d of %d are ready", deployment.Status.ReadyReplicas, gadget.Spec.Size)}
	if deployment.Status.ReadyReplicas == gadget.Spec.Size && deployment.Status.ObservedGeneration == deployment.Generation {
		ready.Status, ready.Reason = metav1.ConditionTrue, "Ready"
	}
	gadget.Status.Ready = deployment.Status.ReadyReplicas
	meta.SetStatusCondition(&gadget.Status.Conditions, ready)
	if err := r.Status().Update(ctx, gadget); err != nil {
		if errors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: time.Millisecond}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

func (r *GadgetReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&Gadget{}).Owns(&appsv1.Deployment{}).Named("gadget").Complete(r)
}

// TestAnOperatorRunsInMemory runs a controller in the form of kubebuilder's, unchanged: with a cache, leader election,
// owned objects, a status, Events and a finalizer.
func TestAnOperatorRunsInMemory(t *testing.T) {
	m := serveMemory(t)
	log.SetLogger(logr.Discard())
	rest, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	known := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	if err := gadgetBuilder.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	direct, err := client.New(rest, client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, object := range parse(t, readFile(t, "testdata/crdchart/crds/gadgets.yaml")) {
		if err := direct.Create(ctx, &unstructured.Unstructured{Object: object.(map[string]any)}); err != nil {
			t.Fatal(err)
		}
	}
	m.eventually("the CRD is established", func() bool {
		return m.field("CustomResourceDefinition.apiextensions.k8s.io", "", "gadgets.ecosystem.example.com", "status", "acceptedNames", "kind") == "Gadget" // Its file has an empty one.
	})

	mgr, err := ctrl.NewManager(rest, ctrl.Options{Scheme: known, LeaderElection: true, LeaderElectionID: "gadgets.ecosystem.example.com",
		LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	reconciler := &GadgetReconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme(), Recorder: mgr.GetEventRecorderFor("gadgets")} //nolint:staticcheck // as above
	if err := reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		if err := mgr.Start(running); err != nil {
			t.Errorf("the manager ends with %v", err)
		}
	})
	defer all.Wait()
	defer stop()

	gadget := &Gadget{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}, Spec: GadgetSpec{Size: 2}}
	if err := direct.Create(ctx, gadget); err != nil {
		t.Fatal(err)
	}
	if gadget.Spec.Image == "" || gadget.UID == "" {
		t.Errorf("created is %+v", gadget)
	}
	available := func(size int32) func() bool {
		return func() bool {
			now := &Gadget{}
			err := direct.Get(ctx, client.ObjectKeyFromObject(gadget), now)
			c := meta.FindStatusCondition(now.Status.Conditions, "Available")
			return err == nil && now.Status.Ready == size && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == now.Generation
		}
	}
	m.eventually("the Gadget is available", available(2))
	if got := m.field("Lease.coordination.k8s.io", "default", "gadgets.ecosystem.example.com", "spec", "holderIdentity"); got == nil || got == "" {
		t.Errorf("the leader is %v", got)
	}

	patched := gadget.DeepCopyObject().(*Gadget)
	patched.Spec.Size = 5
	if err := direct.Patch(ctx, patched, client.MergeFrom(gadget)); err != nil {
		t.Fatal(err)
	}
	m.eventually("the Gadget is available with 5", available(5))

	// What others change and delete is restored: the cache gets the events.
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "default"}}
	if err := direct.Patch(ctx, deployment, client.RawPatch("application/strategic-merge-patch+json", []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatal(err)
	}
	m.eventually("the replicas are 5 again", func() bool {
		return m.field("Deployment.apps", "default", "one", "spec", "replicas") == int64(5)
	})
	before := m.find("Deployment.apps", "default", "one").GetUID()
	if err := direct.Delete(ctx, deployment); err != nil {
		t.Fatal(err)
	}
	m.eventually("there is another Deployment", func() bool {
		u := m.find("Deployment.apps", "default", "one")
		return u != nil && u.GetUID() != before
	})
	m.eventually("an Event tells it", func() bool {
		events := &corev1.EventList{}
		err := direct.List(ctx, events, client.InNamespace("default"), client.MatchingFields{"involvedObject.kind": "Gadget"})
		return err == nil && len(events.Items) > 0
	})

	if err := direct.Delete(ctx, gadget); err != nil {
		t.Fatal(err)
	}
	m.eventually("the Gadget and its Deployment are gone", func() bool {
		return m.find("Gadget.ecosystem.example.com", "default", "one") == nil && m.find("Deployment.apps", "default", "one") == nil
	})
	reconciler.mu.Lock()
	defer reconciler.mu.Unlock()
	if freed := slices.Compact(reconciler.freed); !slices.Equal(freed, []string{"one"}) { // Again after a conflict.
		t.Errorf("the finalizer was run for %v", freed)
	}
}
