package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A depth says whether a merge descends into nested maps.
type depth int

const (
	shallow depth = iota
	deep
)

// mergeMaps returns the entries of both maps. If both have a key, b's value counts,
// or the merged maps if the merge is deep.
func mergeMaps(a, b ref.Val, d depth) ref.Val {
	left, ok1 := a.(traits.Mapper)
	right, ok2 := b.(traits.Mapper)
	if !ok1 || !ok2 {
		return failf("merge needs two maps")
	}
	out := map[ref.Val]ref.Val{}
	for it := left.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		out[key] = left.Get(key)
	}
	for it := right.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := right.Get(key)
		if d == deep {
			value = mergeDown(out[key], value)
			if types.IsError(value) {
				return value
			}
		}
		out[key] = value
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}

func mergeDown(old, value ref.Val) ref.Val {
	_, ok1 := old.(traits.Mapper)
	_, ok2 := value.(traits.Mapper)
	if ok1 && ok2 {
		return mergeMaps(old, value, deep)
	}
	return value
}

// mergeLists returns the elements of two lists of maps. Elements of both lists that have
// the same value of a field are one element: the deep merge of the two, at the place of
// the first.
func mergeLists(args ...ref.Val) ref.Val {
	field := args[2]
	var merged []ref.Val
	places := map[ref.Val]int{} // in merged, by the value of the field
	for i, list := range args[:2] {
		own := map[ref.Val]bool{}
		for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
			element := it.Next()
			key, err := keyOf(element, field)
			if err != nil {
				return err
			}
			if own[key] {
				return failf("mergeBy(): two elements of the %s list have the same %s", [...]string{"first", "second"}[i],
					field.Value())
			}
			own[key] = true
			place, known := places[key]
			if !known {
				places[key] = len(merged)
				merged = append(merged, element)
				continue
			}
			if merged[place] = mergeMaps(merged[place], element, deep); types.IsError(merged[place]) {
				return merged[place]
			}
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, merged)
}

// keyOf returns the value of a field by which elements are merged, or an error.
func keyOf(element, field ref.Val) (key, err ref.Val) {
	m, ok := element.(traits.Mapper)
	if !ok {
		return nil, failf("mergeBy(): the elements must be maps")
	}
	key, found := m.Find(field)
	if !found {
		return nil, failf("mergeBy(): an element has no %s", field.Value())
	}
	if whole, ok := Whole(key); ok {
		return whole, nil
	}
	switch key.(type) {
	case types.String, types.Bool:
		return key, nil
	}
	return nil, failf("mergeBy(): %s must be text, a whole number or a boolean", field.Value())
}

// podTemplateKeys are the lists of a Pod template whose elements have an identity, with
// the fields that it consists of: x-kubernetes-list-map-keys of the API server's OpenAPI.
// All other lists are replaced as a whole.
var podTemplateKeys = func() map[string][]string {
	keys := map[string][]string{
		"spec.volumes":                   {"name"},
		"spec.imagePullSecrets":          {"name"},
		"spec.hostAliases":               {"ip"},
		"spec.resourceClaims":            {"name"},
		"spec.schedulingGates":           {"name"},
		"spec.evictionResponders":        {"name"},
		"spec.resources.claims":          {"name"},
		"spec.topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	}
	for _, containers := range []string{"spec.containers", "spec.initContainers", "spec.ephemeralContainers"} {
		keys[containers] = []string{"name"}
		keys[containers+".env"] = []string{"name"}
		keys[containers+".ports"] = []string{"containerPort", "protocol"}
		keys[containers+".volumeMounts"] = []string{"mountPath"}
		keys[containers+".volumeDevices"] = []string{"devicePath"}
		keys[containers+".resources.claims"] = []string{"name"}
	}
	return keys
}()

// podTemplateUnits are the maps of a Pod template that are replaced as a whole:
// x-kubernetes-map-type atomic.
var podTemplateUnits = map[string]bool{
	"nodeSelector": true, "labelSelector": true, "namespaceSelector": true,
	"configMapKeyRef": true, "secretKeyRef": true, "fieldRef": true, "resourceFieldRef": true, "fileKeyRef": true,
	"secretRef": true, "nodePublishSecretRef": true, "dataSource": true,
	"requiredDuringSchedulingIgnoredDuringExecution": true, // of nodeAffinity; elsewhere it is a list
}

// keyDefaults are the values of identifying fields that the API server fills in.
var keyDefaults = map[string]types.String{"protocol": "TCP"}

// mergePodTemplates merges a Pod template over another one, as the API server merges the
// applies of two managers.
func mergePodTemplates(base, patch ref.Val) ref.Val { return mergeFields(base, patch, "") }

// mergeFields merges two values at a path of a Pod template.
func mergeFields(base, patch ref.Val, path string) ref.Val {
	if left, right := asMapper(base), asMapper(patch); left != nil && right != nil {
		return mergeObjects(left, right, path)
	}
	left, ok := base.(traits.Lister)
	right, both := patch.(traits.Lister)
	if keys := podTemplateKeys[path]; ok && both && keys != nil {
		return mergeElements(left, right, path, keys)
	}
	return patch
}

func asMapper(v ref.Val) traits.Mapper {
	m, _ := v.(traits.Mapper)
	return m
}

func mergeObjects(base, patch traits.Mapper, path string) ref.Val {
	out := map[ref.Val]ref.Val{}
	for it := base.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		out[key] = base.Get(key)
	}
	for it := patch.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := patch.Get(key)
		if old := out[key]; old != nil && !podTemplateUnits[textOf(key)] {
			value = mergeFields(old, value, strings.TrimPrefix(path+"."+textOf(key), "."))
		}
		if types.IsError(value) {
			return value
		}
		out[key] = value
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}

// elements are the elements of a list with their identities.
type elements struct {
	ids    []string
	values map[string]ref.Val
}

// mergeElements merges the elements of two lists that have the same identity. The order
// is that of the API server (structured-merge-diff, visitListItems): common elements have
// the order of the patch, those of the base alone stay before the common ones that they
// precede, and those of the patch alone come where the patch has them, but as late as
// possible.
func mergeElements(base, patch traits.Lister, path string, keys []string) ref.Val {
	left, err := elementsOf(base, path, keys)
	if err != nil {
		return err
	}
	right, err := elementsOf(patch, path, keys)
	if err != nil {
		return err
	}
	var common []string // those that have not been merged yet
	for _, id := range right.ids {
		if left.values[id] != nil {
			common = append(common, id)
		}
	}
	var merged []ref.Val
	done := map[string]bool{}
	for l, r := 0, 0; l < len(left.ids) || r < len(right.ids); {
		if l < len(left.ids) {
			id := left.ids[l]
			switch {
			case right.values[id] == nil:
				merged = append(merged, left.values[id])
				l++
				continue
			case done[id] || len(common) > 0 && common[0] != id:
				l++
				continue
			}
		}
		id := right.ids[r]
		value := right.values[id]
		if old := left.values[id]; old != nil {
			value = mergeFields(old, value, path)
			common = common[1:]
		}
		if types.IsError(value) {
			return value
		}
		merged = append(merged, value)
		done[id] = true
		r++
	}
	return types.NewRefValList(types.DefaultTypeAdapter, merged)
}

func elementsOf(list traits.Lister, path string, keys []string) (all elements, err ref.Val) {
	all.values = map[string]ref.Val{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		id, err := identityOf(element, path, keys)
		if err != nil {
			return all, err
		}
		if all.values[id] != nil {
			return all, failf("mergePodTemplate(): two elements of %s have the same %s", path, strings.Join(keys, " and "))
		}
		all.ids = append(all.ids, id)
		all.values[id] = element
	}
	return all, nil
}

// identityOf returns the values of the fields that identify an element, or an error.
func identityOf(element ref.Val, path string, keys []string) (id string, err ref.Val) {
	m := asMapper(element)
	if m == nil {
		return "", failf("mergePodTemplate(): the elements of %s must be maps", path)
	}
	for _, key := range keys {
		value, found := identifying(m, key)
		if !found {
			return "", failf("mergePodTemplate(): an element of %s has no %s", path, key)
		}
		id += fmt.Sprintf("%v\x00", value.Value())
	}
	return id, nil
}

// identifying returns the value of an identifying field, or its default.
func identifying(m traits.Mapper, key string) (ref.Val, bool) {
	if value, found := m.Find(types.String(key)); found {
		return value, true
	}
	value, has := keyDefaults[key]
	return value, has
}
