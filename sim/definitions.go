package sim

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/schema"
)

// cleanUpResources is the finalizer of a CRD that is being deleted, until no object of its kind is left.
const cleanUpResources = "customresourcecleanup.apiextensions.k8s.io"

// Serve replaces the kinds that the cluster serves. Objects of kinds that are no longer served stay, and no request
// reaches them. From then on, a CRD is established when its kind is served.
func (c *Cluster) Serve(kinds *Kinds) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds.Store(kinds)
	c.follows = true
	for gk, objects := range c.objects {
		for name := range objects {
			c.queue.add(objectKey{gk, name})
		}
	}
}

// defines reports whether the kind of a CRD is served, as far as the kinds follow the CRDs.
func (c *Cluster) defines(definition *unstructured.Unstructured) bool {
	gk, err := schema.Defined(definition.Object)
	return !c.follows || err == nil && len(c.Kinds().set.Versions(gk)) > 0
}

// isEstablished reports whether the names of a CRD are accepted, which the API server does at once.
func isEstablished(definition *unstructured.Unstructured) bool {
	kind, _, _ := unstructured.NestedString(definition.Object, "status", "acceptedNames", "kind")
	return kind != ""
}

// cleanUpResources deletes the objects of a CRD that is being deleted, and then releases the CRD.
func (c *Cluster) cleanUpResources(definition *unstructured.Unstructured) {
	defines, err := schema.Defined(definition.Object)
	if err == nil {
		for _, u := range c.sorted(defines, "") {
			switch {
			case c.Kinds().of(u) == nil:
				c.erase(u) // No request reaches it.
			case u.GetDeletionTimestamp() == nil:
				c.remove(u, metav1.DeletePropagationBackground)
			}
		}
	}
	if len(c.objects[defines]) == 0 {
		c.withoutFinalizer(definition, cleanUpResources)
	}
}
