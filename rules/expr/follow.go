package expr

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A Use says what of a value an expression reads.
type Use string

// The uses of a value.
const (
	UsedValue    Use = "value"    // the value, with all that is in it
	UsedExtent   Use = "extent"   // the number of its elements, or its keys
	UsedPresence Use = "presence" // that it exists
	UsedAbsence  Use = "absence"  // that it does not exist, or is not known
)

// A Reader is told what is read of values that are followed. of is what Follow got, and
// path leads to the part that is read: keys, and indexes as int.
type Reader interface {
	Read(of any, path []any, use Use, value any)
}

// Follow returns a value that tells the reader which of its parts are read. A part of a
// value that is followed already is followed from here on.
func Follow(v any, of any, to Reader, path ...any) ref.Val {
	return (followed{of, path, to}).wrap(types.DefaultTypeAdapter.NativeToValue(v))
}

// followed is a part of a value that is followed.
type followed struct {
	of   any
	path []any
	to   Reader
}

func (f followed) below(step any) followed {
	return followed{f.of, append(slices.Clip(f.path), step), f.to}
}

func (f followed) read(use Use, value any) { f.to.Read(f.of, f.path, use, value) }

// wrap follows a value. Scalars cannot be followed: they count as read.
func (f followed) wrap(v ref.Val) ref.Val {
	switch v := v.(type) {
	case *types.Unknown:
		f.read(UsedAbsence, nil)
		return v
	case *types.Err:
		return v
	case *types.Optional:
		if v.HasValue() {
			return types.OptionalOf(f.wrap(v.GetValue()))
		}
		f.read(UsedAbsence, nil)
		return v
	case *followedMap:
		f.read(UsedPresence, nil)
		return &followedMap{v.Mapper, f}
	case *followedList:
		f.read(UsedPresence, nil)
		return &followedList{v.Lister, f}
	case traits.Mapper:
		f.read(UsedPresence, nil)
		return &followedMap{v, f}
	case traits.Lister:
		f.read(UsedPresence, nil)
		return &followedList{v, f}
	}
	f.read(UsedValue, v)
	return v
}

type followedMap struct {
	traits.Mapper
	at followed
}

// Find implements traits.Mapper.
func (m *followedMap) Find(key ref.Val) (ref.Val, bool) {
	v, found := m.Mapper.Find(key)
	at := m.at.below(key.Value())
	if !found {
		at.read(UsedAbsence, nil)
		return v, false
	}
	return at.wrap(v), true
}

// Get implements traits.Indexer.
func (m *followedMap) Get(key ref.Val) ref.Val {
	if v, found := m.Find(key); found {
		return v
	}
	return m.Mapper.Get(key)
}

// Contains implements traits.Container.
func (m *followedMap) Contains(key ref.Val) ref.Val {
	has := m.Mapper.Contains(key)
	use := UsedPresence
	if has != types.True {
		use = UsedAbsence
	}
	m.at.below(key.Value()).read(use, nil)
	return has
}

// Iterator implements traits.Iterable.
func (m *followedMap) Iterator() traits.Iterator {
	m.at.read(UsedExtent, m.Mapper.Size())
	return m.Mapper.Iterator()
}

// Size implements traits.Sizer.
func (m *followedMap) Size() ref.Val {
	m.at.read(UsedExtent, m.Mapper.Size())
	return m.Mapper.Size()
}

// IsZeroValue implements traits.Zeroer.
func (m *followedMap) IsZeroValue() bool { return m.Size() == types.IntZero }

// Equal implements ref.Val.
func (m *followedMap) Equal(other ref.Val) ref.Val { return m.whole().Equal(other) }

// Value implements ref.Val.
func (m *followedMap) Value() any { return m.whole().Value() }

// ConvertToNative implements ref.Val.
func (m *followedMap) ConvertToNative(t reflect.Type) (any, error) {
	return m.whole().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (m *followedMap) ConvertToType(t ref.Type) ref.Val { return m.whole().ConvertToType(t) }

func (m *followedMap) whole() traits.Mapper {
	m.at.read(UsedValue, m.Mapper)
	return m.Mapper
}

type followedList struct {
	traits.Lister
	at followed
}

// Get implements traits.Indexer.
func (l *followedList) Get(index ref.Val) ref.Val {
	v := l.Lister.Get(index)
	i, err := types.IndexOrError(index)
	if err != nil || types.IsError(v) {
		l.at.read(UsedExtent, l.Lister.Size())
		return v
	}
	return l.at.below(i).wrap(v)
}

// Iterator implements traits.Iterable.
func (l *followedList) Iterator() traits.Iterator {
	l.at.read(UsedExtent, l.Lister.Size())
	return &followedIterator{Iterator: l.Lister.Iterator(), at: l.at}
}

// Size implements traits.Sizer.
func (l *followedList) Size() ref.Val {
	l.at.read(UsedExtent, l.Lister.Size())
	return l.Lister.Size()
}

// IsZeroValue implements traits.Zeroer.
func (l *followedList) IsZeroValue() bool { return l.Size() == types.IntZero }

// Contains implements traits.Container.
func (l *followedList) Contains(v ref.Val) ref.Val { return l.whole().Contains(v) }

// Add implements traits.Adder. The elements of the sum are followed.
func (l *followedList) Add(other ref.Val) ref.Val {
	more, ok := other.(traits.Lister)
	if !ok {
		return l.Lister.Add(other)
	}
	var all []ref.Val
	for _, list := range []traits.Lister{l, more} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			all = append(all, it.Next())
		}
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// Equal implements ref.Val.
func (l *followedList) Equal(other ref.Val) ref.Val { return l.whole().Equal(other) }

// Value implements ref.Val.
func (l *followedList) Value() any { return l.whole().Value() }

// ConvertToNative implements ref.Val.
func (l *followedList) ConvertToNative(t reflect.Type) (any, error) {
	return l.whole().ConvertToNative(t)
}

// ConvertToType implements ref.Val.
func (l *followedList) ConvertToType(t ref.Type) ref.Val { return l.whole().ConvertToType(t) }

func (l *followedList) whole() traits.Lister {
	l.at.read(UsedValue, l.Lister)
	return l.Lister
}

type followedIterator struct {
	traits.Iterator
	at   followed
	next int
}

// Next implements traits.Iterator.
func (it *followedIterator) Next() ref.Val {
	v := it.Iterator.Next()
	it.next++
	return it.at.below(it.next - 1).wrap(v)
}

// unfollowed returns the operands of a call, to measure them: that is no read.
func (a operands) unfollowed() operands {
	for i, v := range a {
		switch v := v.(type) {
		case *followedMap:
			a[i] = v.Mapper
		case *followedList:
			a[i] = v.Lister
		}
	}
	return a
}

// wholeOf returns a value to compare. A comparison of maps reads them in no order, until it
// finds a difference: all of them counts as read.
func wholeOf(v ref.Val) ref.Val {
	switch v := v.(type) {
	case *followedMap:
		return v.whole()
	case *followedList:
		return v.whole()
	}
	return v
}

// At returns the part of a value at a path, or false.
func At(v ref.Val, path []any) (ref.Val, bool) {
	v, ok := Unwrap(v)
	for _, step := range path {
		if !ok {
			return nil, false
		}
		switch of := v.(type) {
		case traits.Mapper:
			v, ok = of.Find(types.DefaultTypeAdapter.NativeToValue(step))
		case traits.Lister:
			i, isIndex := step.(int)
			if !isIndex {
				return nil, false
			}
			v = of.Get(types.Int(i))
			ok = !types.IsError(v)
		default:
			return nil, false
		}
		if ok {
			v, ok = Unwrap(v)
		}
	}
	return v, ok
}

// Path prints a part of a variable the way an expression reads it.
func Path(variable string, path []any) string {
	for _, step := range path {
		variable += Step(step)
	}
	return variable
}

// Step prints a key or an index.
func Step(step any) string {
	if key, isKey := step.(string); isKey {
		return fieldStep(key)
	}
	return fmt.Sprintf("[%v]", step)
}

// Extent reads the number of the elements of a list, or the keys of a map.
func Extent(v ref.Val) (n ref.Val, ok bool) {
	if s, sized := v.(traits.Sizer); sized && isContainer(v) {
		return s.Size(), true
	}
	return nil, false
}
