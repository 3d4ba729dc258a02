//go:build integration

package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"reconcel/test/e2e"
)

// carts is the resource of a run's own kind in its last version.
func (r *faultRun) carts() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.placeholders.Replace(r.Group), Version: "v2", Resource: "carts"}
}

func (r *faultRun) cartCRD() (client dynamic.ResourceInterface, name string) {
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return r.world.Client.Resource(crds), r.carts().GroupResource().String()
}

// createCarts creates the CRD of the run's own kind, with versions v1, which is stored, and v2.
func (r *faultRun) createCarts() {
	r.Helper()
	first := strings.ReplaceAll(faultCRD("Cart", "carts", "Namespaced"), "faults.reconcel.dev", r.carts().Group)
	_, version, _ := strings.Cut(first, "  versions:\n")
	r.world.CRD(first + strings.NewReplacer("name: v1", "name: v2", "storage: true", "storage: false").Replace(version))
	crds, name := r.cartCRD()
	r.Cleanup(func() {
		if err := crds.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			r.Errorf("clean up: %v", err)
		}
	})
	r.serves("v1", "v2")
	r.stage.history.Follow(r.T, r.world.Client.Resource(r.carts()).Namespace(r.namespace))
}

// dropVersion moves the storage of the Carts to v2, writes them again in v2, and removes v1 from the CRD.
// The entries of managedFields and the owner references that name v1 stay.
func (r *faultRun) dropVersion() {
	r.Helper()
	hash := r.storage()
	r.patchCRD(types.JSONPatchType, `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`)
	r.await("v2 to be stored", func() error {
		if r.storage() == hash {
			return errors.New("it is not")
		}
		return nil
	})
	carts := r.world.Client.Resource(r.carts()).Namespace(r.namespace)
	all, err := carts.List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	for _, cart := range all.Items {
		r.await(cart.GetName()+" to be written in v2", func() error {
			_, err := carts.Patch(r.Context(), cart.GetName(), types.MergePatchType, []byte(`{"metadata":{"labels":{"stored":"v2"}}}`), metav1.PatchOptions{FieldManager: "migrator"})
			return err
		})
	}
	r.awaitStored(carts, all.Items)
	r.patchCRD(types.MergePatchType, `{"status":{"storedVersions":["v2"]}}`, "status")
	r.patchCRD(types.JSONPatchType, `[{"op":"remove","path":"/spec/versions/0"}]`)
	r.serves("v2")
}

// awaitStored waits until the Carts are stored in the version of the CRD. A request that began before the CRD changed may
// still write one in the former version, which nobody can read when that is gone. A patch that changes nothing has an
// effect only then.
func (r *faultRun) awaitStored(carts dynamic.ResourceInterface, all []unstructured.Unstructured) {
	r.Helper()
	quiet := 0
	r.await("the Carts to stay in v2", func() error {
		for _, cart := range all {
			before, err := carts.Get(r.Context(), cart.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, before.GetResourceVersion())
			after, err := carts.Patch(r.Context(), cart.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err == nil && after.GetResourceVersion() != before.GetResourceVersion() {
				err = errors.New("it was stored in another one")
			}
			if err != nil {
				quiet = 0
				return fmt.Errorf("%s: %w", cart.GetName(), err)
			}
		}
		if quiet++; quiet < 10 {
			return errors.New("it is not sure yet")
		}
		return nil
	})
}

func (r *faultRun) patchCRD(of types.PatchType, body string, subresources ...string) {
	r.Helper()
	crds, name := r.cartCRD()
	if _, err := crds.Patch(r.Context(), name, of, []byte(body), metav1.PatchOptions{}, subresources...); err != nil {
		r.Fatal(err)
	}
}

// served returns how discovery describes the Carts in a version.
func (r *faultRun) served(version string) (found metav1.APIResource, err error) {
	client, err := discovery.NewDiscoveryClientForConfig(r.world.Cluster.Config())
	if err != nil {
		return found, err
	}
	list, err := client.ServerResourcesForGroupVersion(r.carts().Group + "/" + version)
	if err != nil {
		return found, err
	}
	for _, resource := range list.APIResources {
		if resource.Name == "carts" {
			return resource, nil
		}
	}
	return found, fmt.Errorf("%s has no carts", list.GroupVersion)
}

// storage identifies the version in which the Carts are stored.
func (r *faultRun) storage() string {
	r.Helper()
	resource, err := r.served("v2")
	if err != nil {
		r.Fatal(err)
	}
	return resource.StorageVersionHash
}

// serves waits until discovery has these versions of the Carts, and no others.
func (r *faultRun) serves(versions ...string) {
	r.Helper()
	r.await("discovery to have "+strings.Join(versions, " and "), func() error {
		for _, version := range []string{"v1", "v2"} {
			_, err := r.served(version)
			if want := strings.Contains(strings.Join(versions, " "), version); want != (err == nil) {
				return fmt.Errorf("of %s it says: %w", version, err)
			}
		}
		return nil
	})
}

func (r *faultRun) await(what string, check func() error) {
	r.Helper()
	e2e.Poll(r.T, what, time.Minute, 50*time.Millisecond, check)
}
