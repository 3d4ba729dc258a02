package cli

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// kubectl's copy of what it has applied. It repeats the object, and so the
// values of a Secret.
const annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// A liveObject is an object as the cluster has it, without what is no part of
// what people see of it.
type liveObject struct {
	object
	managed []any // metadata.managedFields
}

// newLiveObject takes over what the API server sent.
func newLiveObject(u *unstructured.Unstructured) *liveObject {
	o := &liveObject{object: object{Unstructured: *u}}
	metadata, _ := u.Object["metadata"].(map[string]any)
	o.managed, _ = metadata["managedFields"].([]any)
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, annotationLastApplied)
	}
	return o
}

// A liveOwner is the primary that an object belongs to.
type liveOwner struct {
	uid             types.UID
	kind            schema.GroupKind
	namespace, name string
}

// owner returns the controller of an object, or if it has none what its
// tracking annotation names.
func (o *liveObject) owner() liveOwner {
	if ref := metav1.GetControllerOf(o); ref != nil {
		group, _, _ := strings.Cut(ref.APIVersion, "/")
		if !strings.Contains(ref.APIVersion, "/") {
			group = ""
		}
		return liveOwner{ref.UID, schema.GroupKind{Group: group, Kind: ref.Kind}, o.GetNamespace(), ref.Name}
	}
	parts := strings.Split(o.GetAnnotations()[rules.AnnotationOwner], "/")
	if len(parts) != 4 {
		return liveOwner{}
	}
	return liveOwner{types.UID(parts[0]), schema.ParseGroupKind(parts[1]), parts[2], parts[3]}
}

// holder says who has an object.
func (o *liveObject) holder() string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return "controlled by " + ref.Kind + " " + ref.Name
	}
	var managers []string
	for _, m := range o.managed {
		entry, _ := m.(map[string]any)
		manager, _ := entry["manager"].(string)
		if entry["subresource"] == nil && manager != "" && !slices.Contains(managers, manager) {
			managers = append(managers, manager)
		}
	}
	if len(managers) == 0 {
		return "not made by this resource"
	}
	return "made by " + strings.Join(managers, ", ")
}

// applied returns the hash of the rendering that the object carries; never "",
// which would stand for any.
func (o *liveObject) applied() string {
	if hash := o.GetAnnotations()[rules.AnnotationApplied]; hash != "" {
		return hash
	}
	return unmarkedObject
}

const unmarkedObject = "none"

// terminating reports whether the object is on its way out.
func (o *liveObject) terminating() bool { return o.GetDeletionTimestamp() != nil }

// live returns the object as rules see it.
func (o *liveObject) live() rules.Live {
	return rules.Live{Object: o.Object, Applied: o.applied()}
}

// identity names the object.
func (o *liveObject) identity() rules.Identity {
	return rules.Identity{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// owned returns what a manager has set by server-side apply, as the tree of
// fieldsV1, or nil.
func (o *liveObject) owned(manager, subresource string) map[string]any {
	for _, m := range o.managed {
		entry, _ := m.(map[string]any)
		of, _ := entry["subresource"].(string)
		if entry["operation"] == "Apply" && entry["manager"] == manager && of == subresource {
			tree, _ := entry["fieldsV1"].(map[string]any)
			return tree
		}
	}
	return nil
}

// ownsField reports whether a tree of fieldsV1 has the field under some keys.
func ownsField(tree map[string]any, keys []string) bool {
	for _, key := range keys {
		branch, ok := tree["f:"+key].(map[string]any)
		if !ok {
			return false
		}
		tree = branch
	}
	return true
}
