package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	"k8s.io/client-go/kubernetes"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"
	"k8s.io/sample-controller/pkg/generated/clientset/versioned"
	fooinformers "k8s.io/sample-controller/pkg/generated/informers/externalversions/samplecontroller/v1alpha1"
	foolisters "k8s.io/sample-controller/pkg/generated/listers/samplecontroller/v1alpha1"
)

// workers is the number of Foos that are reconciled at the same time.
const workers = 16

// manager is the field manager of all writes.
const manager = "baseline"

// controller reconciles Foos.
type controller struct {
	deploy      deploy
	client      kubernetes.Interface
	foos        versioned.Interface
	deployments appslisters.DeploymentLister
	fooLister   foolisters.FooLister
	synced      []cache.InformerSynced
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func newController(by deploy, client kubernetes.Interface, foos versioned.Interface,
	deployments appsinformers.DeploymentInformer, fooInformer fooinformers.FooInformer) (*controller, error) {
	c := &controller{
		deploy: by, client: client, foos: foos,
		deployments: deployments.Lister(), fooLister: fooInformer.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](5*time.Millisecond, 1000*time.Second)),
	}
	ofFoo, err := fooInformer.Informer().AddEventHandler(handler(c.enqueue))
	if err != nil {
		return nil, err
	}
	ofDeployment, err := deployments.Informer().AddEventHandler(handler(c.enqueueOwner))
	if err != nil {
		return nil, err
	}
	c.synced = []cache.InformerSynced{ofFoo.HasSynced, ofDeployment.HasSynced}
	return c, nil
}

// handler calls one function for every event.
func handler(changed func(any)) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, latest any) { changed(latest) },
		DeleteFunc: func(last any) {
			if tombstone, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = tombstone.Obj
			}
			changed(last)
		},
	}
}

func (c *controller) enqueue(foo any) {
	if object, ok := foo.(metav1.Object); ok {
		c.queue.Add(cache.ObjectName{Namespace: object.GetNamespace(), Name: object.GetName()})
	}
}

func (c *controller) enqueueOwner(deployment any) {
	object, ok := deployment.(metav1.Object)
	if !ok {
		return
	}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.Kind == "Foo" {
		c.queue.Add(cache.ObjectName{Namespace: object.GetNamespace(), Name: owner.Name})
	}
}

// run works until ctx ends.
func (c *controller) run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	var busy sync.WaitGroup
	for range workers {
		busy.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	busy.Wait()
}

// next reconciles the next Foo of the queue. It returns false after the last one.
func (c *controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	if err := c.reconcile(ctx, name); err != nil {
		if ctx.Err() == nil {
			slog.Warn("reconcile failed, will retry", "foo", name, "error", err)
		}
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

// reconcile makes the Deployment of a Foo as wanted, and reports its available replicas.
func (c *controller) reconcile(ctx context.Context, name cache.ObjectName) error {
	foo, err := c.fooLister.Foos(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) {
		return nil // The garbage collector deletes the Deployment.
	}
	if err != nil {
		return err
	}
	if foo.Spec.DeploymentName == "" {
		slog.Warn("spec.deploymentName must be set", "foo", name)
		return nil
	}
	deployment, err := c.ensure(ctx, foo)
	if err != nil {
		return err
	}
	if foo.Status.AvailableReplicas == deployment.Status.AvailableReplicas {
		return nil
	}
	reported := foo.DeepCopy()
	reported.Status.AvailableReplicas = deployment.Status.AvailableReplicas
	_, err = c.foos.SamplecontrollerV1alpha1().Foos(foo.Namespace).UpdateStatus(ctx, reported,
		metav1.UpdateOptions{FieldManager: manager})
	return err
}

// ensure writes the Deployment if it differs, and returns it.
func (c *controller) ensure(ctx context.Context, foo *v1alpha1.Foo) (*appsv1.Deployment, error) {
	desired := newDeployment(foo)
	live, err := c.deployments.Deployments(foo.Namespace).Get(desired.Name)
	switch {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(live, foo):
		return nil, fmt.Errorf("Deployment %s already exists and is not managed by Foo", live.Name)
	case matches(live, desired):
		return live, nil
	}
	return c.deploy(ctx, c.client.AppsV1().Deployments(foo.Namespace), live, desired)
}
