package sim

import (
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
)

// A pool shares equal parts of stored objects, which nobody changes. Most of what many objects of a kind have is
// equal: containers, probes, managedFields. The history has many versions of the same object.
type pool struct {
	seed  maphash.Seed
	parts map[uint64]any
}

// mostParts is how many parts a pool knows. Then it begins anew.
const mostParts = 50_000

func newPool() pool { return pool{maphash.MakeSeed(), map[uint64]any{}} }

// share returns a value whose parts are shared, and its hash. It does not change the value.
func (p *pool) share(value any) (any, uint64) {
	switch v := value.(type) {
	case map[string]any:
		out, sum := v, maphash.Comparable(p.seed, len(v))
		for key, part := range v {
			shared, hash := p.share(part)
			sum += maphash.Comparable(p.seed, entry{key, hash}) // The order does not matter.
			if !identical(shared, part) {
				if identical(out, v) {
					out = maps.Clone(v)
				}
				out[key] = shared
			}
		}
		return p.known(out, sum), sum
	case []any:
		out, sum := v, maphash.Comparable(p.seed, -len(v)-1)
		for i, part := range v {
			shared, hash := p.share(part)
			sum = maphash.Comparable(p.seed, [2]uint64{sum, hash})
			if !identical(shared, part) {
				if identical(out, v) {
					out = slices.Clone(v)
				}
				out[i] = shared
			}
		}
		return p.known(out, sum), sum
	}
	return value, maphash.Comparable(p.seed, value)
}

// An entry is what a map has for a key, by its hash.
type entry struct {
	key  string
	hash uint64
}

// known returns the part of the pool that equals a part, or adds it.
func (p *pool) known(part any, hash uint64) any {
	if other, has := p.parts[hash]; has && reflect.DeepEqual(other, part) {
		return other
	}
	if len(p.parts) >= mostParts {
		clear(p.parts)
	}
	p.parts[hash] = part
	return part
}

// identical reports whether two values are the same map or list. Other values have no parts to share.
func identical(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch x.Kind() {
	case reflect.Map, reflect.Slice:
		return x.Kind() == y.Kind() && x.Pointer() == y.Pointer() && x.Len() == y.Len()
	}
	return true
}
