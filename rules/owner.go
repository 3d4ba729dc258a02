package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// An Owner is the primary that an object belongs to.
type Owner struct {
	Kind      schema.GroupKind
	Namespace string // "" for cluster-scoped kinds
	Name      string
	UID       types.UID
}

// String returns Kind/namespace/name, as messages show it.
func (o Owner) String() string {
	return Identity{GVK: shownKind(o.Kind).WithVersion(""), Namespace: o.Namespace, Name: o.Name}.String()
}

// ControllerOf returns the controller of an object by its owner reference. A
// reference has no namespace, so the controller is assumed to be in the object's.
func ControllerOf(object map[string]any) (Owner, bool) {
	metadata := mapAt(object, "metadata")
	namespace, _ := metadata["namespace"].(string)
	return ControllerIn(metadata["ownerReferences"], namespace)
}

// ControllerIn returns the controller in the owner references of an object in a namespace.
func ControllerIn(references any, namespace string) (Owner, bool) {
	ref := controllerReference(references)
	if ref == nil {
		return Owner{}, false
	}
	apiVersion, _ := ref["apiVersion"].(string)
	kind, _ := ref["kind"].(string)
	name, _ := ref["name"].(string)
	uid, _ := ref["uid"].(string)
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return Owner{Kind: schema.GroupKind{Group: group, Kind: kind}, Namespace: namespace, Name: name, UID: types.UID(uid)},
		true
}

// ControllerVersion returns the apiVersion in the owner reference to the controller, or "".
func ControllerVersion(references any) string {
	apiVersion, _ := controllerReference(references)["apiVersion"].(string)
	return apiVersion
}

// controllerReference returns the owner reference to the controller, or nil.
func controllerReference(references any) map[string]any {
	refs, _ := references.([]any)
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if is, _ := ref["controller"].(bool); is {
			return ref
		}
	}
	return nil
}

// OwnerOf returns the primary that owns an object: its controller, or else the
// owner in AnnotationOwner.
func OwnerOf(object map[string]any) (Owner, bool) {
	if owner, ok := ControllerOf(object); ok {
		return owner, true
	}
	return AnnotatedOwner(object)
}

// AnnotatedOwner returns the owner in AnnotationOwner. The annotation may be a copy from
// another object: it counts only if managedFields show that reconcel wrote it.
func AnnotatedOwner(object map[string]any) (Owner, bool) {
	owner, _, ok := annotatedOwner(object)
	return owner, ok
}

// besideReference ends the AnnotationOwner of an object of replicas that also has an owner
// reference. The name of such an object is not in the rules, so without the annotation, the
// owner of an object whose reference was removed would be unknown.
const besideReference = "reference"

// annotatedOwner returns the owner in AnnotationOwner, and whether the object was created
// with an owner reference, too.
func annotatedOwner(object map[string]any) (owner Owner, referenced, ok bool) {
	text, _ := mapAt(object, "metadata", "annotations")[AnnotationOwner].(string)
	parts := strings.Split(text, "/")
	referenced = len(parts) == 5 && parts[4] == besideReference
	if len(parts) != 4 && !referenced {
		return Owner{}, false, false
	}
	return Owner{UID: types.UID(parts[0]), Kind: schema.ParseGroupKind(parts[1]), Namespace: parts[2], Name: parts[3]},
		referenced, true
}

// HadReference reports whether an object of replicas was created with an owner reference,
// which another writer may have removed since, or the garbage collector, because the primary
// was deleted with --cascade=orphan.
func HadReference(object map[string]any) bool {
	_, referenced, _ := annotatedOwner(object)
	return referenced
}

// HolderOf describes who owns an object: its controller, or else the managers of
// its fields. managedFields are a separate argument, because most copies of objects
// do not have them.
func HolderOf(object map[string]any, managedFields []any) string {
	if owner, ok := ControllerOf(object); ok {
		return "controlled by " + owner.Kind.Kind + " " + owner.Name
	}
	var managers []string
	for _, m := range managedFields {
		entry, _ := m.(map[string]any)
		manager, _ := entry["manager"].(string)
		subresource, _ := entry["subresource"].(string)
		if subresource == "" && manager != "" && !slices.Contains(managers, manager) {
			managers = append(managers, manager)
		}
	}
	if owner, ok := OwnerOf(object); ok {
		return fmt.Sprintf("owned by %s %s", shownKind(owner.Kind).Kind,
			strings.TrimPrefix(owner.Namespace+"/"+owner.Name, "/"))
	}
	if shares := SharesOf(object); len(shares) > 0 {
		who := shares[0].Owner.String()
		if more := len(shares) - 1; more > 0 {
			who = fmt.Sprintf("%s and %d more", who, more)
		}
		return "shared by " + who
	}
	if len(managers) == 0 {
		return "not created for this resource"
	}
	return fmt.Sprintf("managed by %q", strings.Join(managers, ", "))
}

// SharePrefix begins the keys of the annotations of a shared object, one for each of its
// owners. The rest of the key is the UID of the owner.
const SharePrefix = "share.reconcel.dev/"

// A Share is the part of one owner in a shared object: the primary, and the hash of what
// it renders. While the hashes of all owners are equal, their rendering is applied.
type Share struct {
	Owner Owner
	Hash  string
}

// ShareKey returns the key of an owner's annotation.
func ShareKey(owner types.UID) string { return SharePrefix + string(owner) }

// Value returns the value of the annotation.
func (s Share) Value() string {
	return strings.Join([]string{s.Owner.Kind.String(), s.Owner.Namespace, s.Owner.Name, s.Hash}, "/")
}

// ShareOf returns the part of an owner in an object. The annotation may be a copy: it counts
// only if managedFields show that reconcel wrote it.
func ShareOf(object map[string]any, owner types.UID) (Share, bool) {
	text, _ := mapAt(object, "metadata", "annotations")[ShareKey(owner)].(string)
	return parseShare(owner, text)
}

// SharesOf returns the parts of all owners in an object, sorted by UID.
func SharesOf(object map[string]any) (all []Share) {
	annotations := mapAt(object, "metadata", "annotations")
	for key := range maps.Keys(annotations) {
		uid, isShare := strings.CutPrefix(key, SharePrefix)
		if !isShare {
			continue
		}
		text, _ := annotations[key].(string)
		if s, ok := parseShare(types.UID(uid), text); ok {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Share) int { return cmp.Compare(a.Owner.UID, b.Owner.UID) })
	return all
}

func parseShare(uid types.UID, text string) (Share, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 {
		return Share{}, false
	}
	return Share{Owner: Owner{UID: uid, Kind: schema.ParseGroupKind(parts[0]), Namespace: parts[1], Name: parts[2]},
		Hash: parts[3]}, true
}
