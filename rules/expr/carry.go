package expr

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A carried value is a scalar of a followed map that a function copies into another one. It
// counts as read when it is read there.
type carried struct {
	ref.Val
	at followed
}

// entryOf returns an entry of a map to copy into newMap.
func entryOf(m traits.Mapper, key ref.Val) ref.Val {
	switch m := m.(type) {
	case *carriedMap:
		if c := m.carried[key]; c != nil {
			return c
		}
	case *followedMap:
		v, _ := m.Mapper.Find(key)
		at := m.at.below(key.Value())
		if isContainer(v) {
			return at.wrap(v)
		}
		return &carried{v, at}
	}
	return m.Get(key)
}

// newMap returns a map of entries, some of which entryOf has returned.
func newMap(entries map[ref.Val]ref.Val) ref.Val {
	var all map[ref.Val]*carried
	for key, v := range entries {
		if c, ok := v.(*carried); ok {
			if all == nil {
				all = map[ref.Val]*carried{}
			}
			all[key], entries[key] = c, c.Val
		}
	}
	plain := types.NewRefValMap(types.DefaultTypeAdapter, entries)
	if all == nil {
		return plain
	}
	return &carriedMap{plain, all}
}

type carriedMap struct {
	traits.Mapper
	carried map[ref.Val]*carried
}

// Find implements traits.Mapper.
func (m *carriedMap) Find(key ref.Val) (ref.Val, bool) {
	if c := m.carried[key]; c != nil {
		return c.at.wrap(c.Val), true
	}
	return m.Mapper.Find(key)
}

// Get implements traits.Indexer.
func (m *carriedMap) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return m.Mapper.Get(key)
}

// IsZeroValue implements traits.Zeroer.
func (m *carriedMap) IsZeroValue() bool { return m.Size() == types.IntZero }

// Equal implements ref.Val.
func (m *carriedMap) Equal(other ref.Val) ref.Val { return m.whole().Equal(other) }

// Value implements ref.Val.
func (m *carriedMap) Value() any { return m.whole().Value() }

// ConvertToNative implements ref.Val.
func (m *carriedMap) ConvertToNative(t reflect.Type) (any, error) {
	return m.whole().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (m *carriedMap) ConvertToType(t ref.Type) ref.Val { return m.whole().ConvertToType(t) }

func (m *carriedMap) whole() traits.Mapper {
	for _, c := range m.carried {
		c.at.read(UsedValue, c.Val)
	}
	return m.Mapper
}

// wholeOf returns a value to compare. A comparison of maps reads them in no order, until it
// finds a difference: all of them counts as read.
func wholeOf(v ref.Val) ref.Val {
	switch v := v.(type) {
	case *followedMap:
		return v.whole()
	case *followedList:
		return v.whole()
	case *carriedMap:
		return v.whole()
	}
	return v
}
