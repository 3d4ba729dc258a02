package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
	"k8s.io/sample-controller/pkg/generated/clientset/versioned"
	typedv1alpha1 "k8s.io/sample-controller/pkg/generated/clientset/versioned/typed/samplecontroller/v1alpha1"
	"k8s.io/sample-controller/pkg/generated/informers/externalversions"

	"reconcel/hack/bench/order"
)

// Driver plays users and Kubernetes' controllers in one namespace.
type Driver struct {
	namespace   string
	client      kubernetes.Interface
	fooClient   versioned.Interface
	deployments typedappsv1.DeploymentInterface
	foos        typedv1alpha1.FooInterface
	ledger      *ledger
	queue       workqueue.TypedInterface[string] // names of Deployments to attend to

	sending sync.Mutex
	orders  *json.Encoder // nil if the competitor needs no orders
}

// New returns a driver that uses this configuration. A controller without watches gets
// orders: what a watch would tell it to write. Otherwise, orders is nil.
func New(config *rest.Config, namespace string, orders io.Writer) (*Driver, error) {
	config = rest.CopyConfig(config)
	fooClient, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	// The driver shares the machine with the controller, so it takes the cheapest format.
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		namespace: namespace, client: client, fooClient: fooClient,
		deployments: client.AppsV1().Deployments(namespace),
		foos:        fooClient.SamplecontrollerV1alpha1().Foos(namespace),
		ledger:      newLedger(time.Now),
		queue:       workqueue.NewTyped[string](),
	}
	if orders != nil {
		d.orders = json.NewEncoder(orders)
	}
	return d, nil
}

// Start starts watches and workers. The returned context ends with ctx, or with the first
// error of a worker, which is its cause. stop ends everything, and waits for it.
func (d *Driver) Start(ctx context.Context) (_ context.Context, stop func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	deploymentFactory := informers.NewSharedInformerFactoryWithOptions(d.client, 0,
		informers.WithNamespace(d.namespace), informers.WithTransform(smaller))
	fooFactory := externalversions.NewSharedInformerFactoryWithOptions(d.fooClient, 0,
		externalversions.WithNamespace(d.namespace), externalversions.WithTransform(smaller))
	var busy sync.WaitGroup
	stop = func() {
		cancel(nil)
		d.queue.ShutDown()
		busy.Wait()
		deploymentFactory.Shutdown()
		fooFactory.Shutdown()
	}
	ofChild, err := deploymentFactory.Apps().V1().Deployments().Informer().AddEventHandler(d.childHandler())
	if err != nil {
		stop()
		return nil, nil, err
	}
	ofFoo, err := fooFactory.Samplecontroller().V1alpha1().Foos().Informer().AddEventHandler(d.fooHandler())
	if err != nil {
		stop()
		return nil, nil, err
	}
	deploymentFactory.StartWithContext(ctx)
	fooFactory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), ofChild.HasSynced, ofFoo.HasSynced) {
		stop()
		return nil, nil, context.Cause(ctx)
	}
	for range workers {
		busy.Go(func() { d.work(ctx, cancel) })
	}
	return ctx, stop, nil
}

// smaller drops the largest part of an object that the driver does not read: its memory is not the
// competitor's.
func smaller(object any) (any, error) {
	if o, ok := object.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}

// work attends to Deployments until the queue is shut down.
func (d *Driver) work(ctx context.Context, fail func(error)) {
	for {
		name, shutdown := d.queue.Get()
		if shutdown {
			return
		}
		if err := d.attend(ctx, name); err != nil {
			fail(fmt.Errorf("driver: %s: %w", name, err))
		}
		d.queue.Done(name)
	}
}

// Expect starts a wait until the named Foos and their Deployments are as the goal says. It
// counts what happens from now on, and what is so already.
func (d *Driver) Expect(names []string, goal Goal) *Wait { return d.ledger.expect(names, goal) }

// send sends an order to a competitor that needs orders.
func (d *Driver) send(o order.Order) error {
	if d.orders == nil {
		return nil
	}
	d.sending.Lock()
	defer d.sending.Unlock()
	return d.orders.Encode(o)
}

// childHandler records Deployments.
func (d *Driver) childHandler() cache.ResourceEventHandlerFuncs {
	saw := func(object any) {
		child := object.(*appsv1.Deployment)
		d.ledger.sawChild(child.Name, childOf(child))
		d.queue.Add(child.Name)
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    saw,
		UpdateFunc: func(_, latest any) { saw(latest) },
		DeleteFunc: func(last any) { d.ledger.sawChild(nameOf(last), Child{}) },
	}
}

// fooHandler records Foos.
func (d *Driver) fooHandler() cache.ResourceEventHandlerFuncs {
	saw := func(object any) {
		foo := object.(*v1alpha1.Foo)
		d.ledger.sawFoo(foo.Name, Foo{Available: foo.Status.AvailableReplicas})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    saw,
		UpdateFunc: func(_, latest any) { saw(latest) },
		DeleteFunc: func(last any) {
			name := nameOf(last)
			d.ledger.sawFoo(name, Foo{Deleted: true})
			d.queue.Add(name)
		},
	}
}

// nameOf returns the name of a deleted object, also of one whose deletion the watch missed.
func nameOf(last any) string {
	if tombstone, ok := last.(cache.DeletedFinalStateUnknown); ok {
		last = tombstone.Obj
	}
	return last.(metav1.Object).GetName()
}

func childOf(d *appsv1.Deployment) Child {
	child := Child{Exists: true, Generation: d.Generation, Observed: d.Status.ObservedGeneration,
		Available: d.Status.AvailableReplicas}
	if d.Spec.Replicas != nil {
		child.Replicas = *d.Spec.Replicas
	}
	if containers := d.Spec.Template.Spec.Containers; len(containers) > 0 {
		child.Image = containers[0].Image
	}
	return child
}
