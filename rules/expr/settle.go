package expr

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// settled returns a copy of a value that any goroutine can read, or the type of the part
// that has none: some values of CEL change when they are first read.
func settled(v ref.Val) (out ref.Val, wrong string) {
	switch v := v.(type) {
	case types.String, types.Bool, types.Int, types.Uint, types.Double, types.Null, types.Timestamp, types.Duration:
		return v, ""
	case traits.Mapper:
		all := map[ref.Val]ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if all[key], wrong = settled(v.Get(key)); wrong != "" {
				return nil, wrong
			}
		}
		return types.NewRefValMap(types.DefaultTypeAdapter, all), ""
	case traits.Lister:
		all := []ref.Val{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			item, wrong := settled(it.Next())
			if wrong != "" {
				return nil, wrong
			}
			all = append(all, item)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, all), ""
	}
	return nil, TypeOfValue(v)
}
