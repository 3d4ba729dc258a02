package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

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
