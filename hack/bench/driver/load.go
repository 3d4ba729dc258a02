package driver

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/sample-controller/pkg/apis/samplecontroller/v1alpha1"

	"reconcel/hack/bench/order"
)

// workers is the number of requests of one kind that the driver sends at the same time.
const workers = 16

// each calls do for every name, several at the same time, and returns the first error
// or the cause of the end of ctx.
func each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, name := range names {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error { return do(inner, name) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx) // It may have ended between two names.
}

// Create creates Foos. The Deployment of each gets its name.
func (d *Driver) Create(ctx context.Context, names []string, replicas int32) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		foo := &v1alpha1.Foo{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.FooSpec{DeploymentName: name, Replicas: &replicas},
		}
		created, err := d.foos.Create(ctx, foo, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return d.send(order.Order{Name: name, UID: string(created.UID), Replicas: &replicas})
	})
}

// Scale changes the replicas of Foos.
func (d *Driver) Scale(ctx context.Context, names []string, replicas int32) error {
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return each(ctx, names, func(ctx context.Context, name string) error {
		changed, err := d.foos.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
		if err != nil {
			return err
		}
		return d.send(order.Order{Name: name, UID: string(changed.UID), Replicas: &replicas})
	})
}

// Delete deletes Foos.
func (d *Driver) Delete(ctx context.Context, names []string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		return d.foos.Delete(ctx, name, metav1.DeleteOptions{})
	})
}

// Drift changes the image of a Deployment, and returns the time from before this request
// until the driver's watch has shown the image that was there before. It returns when the
// Deployment has a status again.
func (d *Driver) Drift(ctx context.Context, name string) (time.Duration, error) {
	_, before := d.ledger.state(name)
	// The drift is one generation, and the repair another.
	repaired := d.Expect([]string{name}, Goal{
		Child: func(c Child) bool { return c.Image == before.Image && c.Generation >= before.Generation+2 },
		Foo:   func(Foo) bool { return true },
	})
	started := time.Now()
	const body = `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"drifted"}]`
	if _, err := d.deployments.Patch(ctx, name, types.JSONPatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		return 0, err
	}
	reached, err := repaired.Until(ctx)
	if err != nil {
		return 0, fmt.Errorf("drift of %s: %w", name, err)
	}
	rested := d.Expect([]string{name}, Goal{
		Child: func(c Child) bool { return c.Observed == c.Generation },
		Foo:   func(Foo) bool { return true },
	})
	_, err = rested.Until(ctx)
	return reached.Children.Sub(started), err
}
