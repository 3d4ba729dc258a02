package driver

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/hack/bench/order"
)

// task is what the driver does about a Deployment in place of Kubernetes' controllers.
type task int

const (
	nothing task = iota
	report       // as the Deployment controller: write the status
	collect      // as the garbage collector: delete it
)

// due decides what to do. A Foo that was never seen may only be late.
func due(foo Foo, child Child) task {
	switch {
	case !child.Exists:
		return nothing
	case foo.Deleted:
		return collect
	case child.Observed < child.Generation || child.Available != child.Replicas:
		return report
	default:
		return nothing
	}
}

// attend does what is due for a Deployment.
func (d *Driver) attend(ctx context.Context, name string) error {
	foo, child := d.ledger.state(name)
	switch due(foo, child) {
	case report:
		body := fmt.Appendf(nil, `{"status":{"observedGeneration":%d,"replicas":%[2]d,"updatedReplicas":%[2]d,"readyReplicas":%[2]d,"availableReplicas":%[2]d,`+
			`"conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."},`+
			`{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable","message":"The rollout is complete."}]}}`,
			child.Generation, child.Replicas)
		_, err := d.deployments.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
		if apierrors.IsNotFound(err) {
			return nil // Its deletion is the next event.
		}
		if err != nil {
			return err
		}
		return d.send(order.Order{Name: name, Available: &child.Replicas})
	case collect:
		err := d.deployments.Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return nil
}
