package schema

import "k8s.io/kube-openapi/pkg/validation/spec"

// The keys of a schema that say how server-side apply merges lists and maps.
const (
	listType    = "x-kubernetes-list-type"
	listMapKeys = "x-kubernetes-list-map-keys"
	mapType     = "x-kubernetes-map-type"
)

// MergedBy returns how server-side apply merges a list: "map" by the keys of its elements,
// "set" by the elements themselves, and otherwise not at all.
func MergedBy(list *spec.Schema) (how string, keys []string) {
	how, _ = list.Extensions.GetString(listType)
	keys, _ = list.Extensions.GetStringSlice(listMapKeys)
	return how, keys
}

// IsAtomicMap reports whether server-side apply replaces an object or a map as a whole.
func IsAtomicMap(s *spec.Schema) bool {
	how, _ := s.Extensions.GetString(mapType)
	return how == "atomic"
}
