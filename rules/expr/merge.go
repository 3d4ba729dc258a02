package expr

import (
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
