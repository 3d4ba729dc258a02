package cli

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine"
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

// owner returns the primary that an object says it belongs to.
func (o *liveObject) owner() rules.Owner {
	owner, _ := rules.OwnerOf(o.Object)
	return owner
}

// belongsTo reports whether a primary has the object: it is its controller, or
// what run itself has named as its owner. A mark that somebody else has written
// makes nothing run's.
func (o *liveObject) belongsTo(self *liveObject) bool {
	owner := rules.Owner{Kind: self.GroupVersionKind().GroupKind(), Namespace: self.GetNamespace(), Name: self.GetName(), UID: self.GetUID()}
	if controller, ok := rules.ControllerOf(o.Object); ok {
		if owner.Namespace == "" {
			controller.Namespace = ""
		}
		return controller == owner
	}
	return o.owner() == owner && ownsField(o.owned(engine.FieldManager, ""), []string{"metadata", "annotations", rules.AnnotationOwner})
}

// holder says who has an object.
func (o *liveObject) holder() string { return rules.HolderOf(o.Object, o.managed) }

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
