package sim

import (
	"maps"
	"slices"

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
	c.served.Store(c.version)
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

// storedVersion adds the version in which a CRD is stored now to those in which its objects may be stored.
func storedVersion(u *unstructured.Unstructured) {
	before, _ := u.Object["status"].(map[string]any)
	status := map[string]any{}
	maps.Copy(status, before) // The old object has the same one.
	status["storedVersions"] = withStorageVersion(u)
	u.Object["status"] = status
}

// withStorageVersion returns the versions in which objects of a CRD may be stored, with the one in which they are
// stored now.
func withStorageVersion(u *unstructured.Unstructured) []any {
	stored, _, _ := unstructured.NestedSlice(u.Object, "status", "storedVersions")
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["storage"] == true && !slices.Contains(stored, version["name"]) {
			stored = append(stored, version["name"])
		}
	}
	return stored
}
