package offline

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// observed are the objects that exist in the cluster.
type observed struct {
	list []*files.Object
	byID map[rules.Identity]*files.Object
	read map[*files.Object]bool
}

func identity(o *files.Object) rules.Identity {
	return rules.Identity{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// newObserved indexes the objects. It rejects duplicates instead of choosing one.
func newObserved(list []*files.Object) (*observed, error) {
	all := &observed{list: list, byID: map[rules.Identity]*files.Object{}, read: map[*files.Object]bool{}}
	for _, o := range list {
		id := identity(o)
		if other := all.byID[id]; other != nil {
			return nil, fmt.Errorf("%s: %s is given twice (%s)", o.File, o, other.File)
		}
		all.byID[id] = o
	}
	return all, nil
}

func (all *observed) find(id rules.Identity) *files.Object {
	o := all.byID[id]
	if o != nil {
		all.read[o] = true
	}
	return o
}

// unread returns the objects that no rule has read.
func (all *observed) unread() (rest []*files.Object) {
	for _, o := range all.list {
		if !all.read[o] {
			rest = append(rest, o)
		}
	}
	return rest
}

// holder returns the controller of an object unless it is the primary, or nil. An
// object without a controller counts as the primary's. So does one whose reference
// to the primary has no UID, because it was written by hand.
func holder(o, primary *files.Object) *metav1.OwnerReference {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return nil
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	sameUID := ref.UID == "" || primary.GetUID() == "" || ref.UID == primary.GetUID()
	if err == nil && gv.Group == primary.GroupVersionKind().Group && ref.Kind == primary.GetKind() &&
		ref.Name == primary.GetName() && sameUID {
		return nil
	}
	return ref
}
