//go:build integration

package campaign

import (
	"context"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"reconcel/test/oracle"
)

// enter creates the namespace of the run. The end of the test deletes what the run has made, and
// keeps the namespace: the deletion of a namespace asks for every kind there is, so thousands of
// them take the API server longer than the runs.
func (r *faultRun) enter(prefix string, mode alone) {
	r.Helper()
	r.namespace = r.world.Create("{apiVersion: v1, kind: Namespace, metadata: {generateName: " + prefix + "}}").GetName()
	r.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r.clear(ctx, mode)
		if mode == separate {
			r.clearInstallation(ctx)
		}
	})
}

// clear deletes the objects of the run, primaries first, and at last those of its own kind. Without a
// process, nothing removes their finalizers.
func (r *faultRun) clear(ctx context.Context, mode alone) {
	r.Helper()
	left := r.seen.Versions()
	isPrimary := func(k oracle.Key) bool { return slices.Contains([]string{"Box", "Bin", "Crate"}, k.Kind) }
	for _, primaries := range []bool{true, false} {
		for key := range left {
			if kind, known := faultKinds[key.Kind]; known && isPrimary(key) == primaries {
				r.discard(ctx, r.world.ResourceIn(kind, key.Namespace), key.Name, mode)
			}
		}
	}
	if r.Group != "" {
		r.clearCarts(ctx, mode)
	}
}

// clearCarts deletes the objects of the run's own kind, whose CRD may be gone or on its way: their finalizers
// hold it up.
func (r *faultRun) clearCarts(ctx context.Context, mode alone) {
	r.Helper()
	carts := r.world.Client.Resource(r.carts()).Namespace(r.namespace)
	var list *unstructured.UnstructuredList
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(context.Context) (bool, error) {
		var err error
		if list, err = carts.List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			return true, err
		}
		// The API server answers 404 for a moment after a change of the versions, and for ever without the CRD.
		crds, name := r.cartCRD()
		_, err = crds.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			list = &unstructured.UnstructuredList{}
			return true, nil
		}
		return false, err
	})
	if err != nil {
		r.Errorf("clean up of the Carts: %v", err)
		return
	}
	for _, cart := range list.Items {
		r.discard(ctx, carts, cart.GetName(), mode)
	}
}

// discard deletes an object, if it still exists.
func (r *faultRun) discard(ctx context.Context, client dynamic.ResourceInterface, name string, mode alone) {
	r.Helper()
	background := metav1.DeletePropagationBackground
	err := client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err == nil && mode == separate {
		_, err = client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		r.Errorf("clean up: %v", err)
	}
}

// clearInstallation deletes what the process has kept for itself.
func (r *faultRun) clearInstallation(ctx context.Context) {
	r.Helper()
	for _, resource := range []schema.GroupVersionResource{configMaps, {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}} {
		client := r.world.Client.Resource(resource).Namespace("default")
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			r.Errorf("clean up: %v", err)
			return
		}
		for _, one := range list.Items {
			if name := one.GetName(); name == r.namespace || strings.HasPrefix(name, r.namespace+"-") {
				r.discard(ctx, client, name, separate)
			}
		}
	}
}
