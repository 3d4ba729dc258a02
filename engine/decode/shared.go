package decode

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

const (
	keySlots      = 512
	valueSlots    = 2048
	compositeSets = 128
	// compositeWays is how many values of a set are kept. An object consists of a dozen
	// small maps and lists. All must be kept until the next object is read.
	compositeWays = 4
	// longestShared is the length in bytes up to which strings are shared. Longer ones
	// are rarely equal.
	longestShared = 64
	// mostShared is the number of entries up to which maps and lists are shared. It is how
	// many fit into the smallest map.
	mostShared = 8
)

// shared are values that others may be equal to: strings, and small maps and lists of shared
// values. Objects of one kind have many of them in common, such as labels, a spec of two
// numbers, or the conditions that were written within a second. Its size is fixed: a new
// string takes the slot of an old one, and a new map or list the slot of the one in its set
// that was not used for the longest time. It is not safe for concurrent use.
type shared struct {
	keys       [keySlots]string
	values     [valueSlots]any                    // strings, so that the interface is shared too
	composites [compositeSets][compositeWays]kept // in each set, the last used one is first
}

type kept struct {
	hash  uint64
	value any // a map or a list
}

var seed = maphash.MakeSeed()

// key returns the string of b.
func (s *shared) key(b []byte) string {
	if len(b) > longestShared {
		return string(b)
	}
	slot := &s.keys[maphash.Bytes(seed, b)%keySlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// value returns the string of b as an any, and its hash: 0 if it is not shared.
func (s *shared) value(b []byte) (any, uint64) {
	if len(b) > longestShared {
		return string(b), 0
	}
	hash := maphash.Bytes(seed, b)
	slot := &s.values[hash%valueSlots]
	if old, _ := (*slot).(string); old != string(b) || *slot == nil {
		*slot = string(b)
	}
	return *slot, hash | 1
}

// Hashes of what has no bytes to hash. Any odd numbers do.
const (
	hashOfTrue  uint64 = 0x9E3779B97F4A7C15
	hashOfFalse uint64 = 0xBF58476D1CE4E5B9
	hashOfNull  uint64 = 0x94D049BB133111EB
	hashOfMap   uint64 = 0xD6E8FEB86659FD93
	hashOfList  uint64 = 0xA0761D6478BD642F
)

func hashOfKey(key string) uint64 { return maphash.String(seed, key) | 1 }

// hashOfText returns the hash that value returns for a text.
func hashOfText(text string) uint64 {
	if len(text) > longestShared {
		return 0
	}
	return maphash.String(seed, text) | 1
}

func hashOfNumber(v any) uint64 { return maphash.Comparable(seed, v) | 1 }

// A composite is what a map or list consists of.
type composite struct {
	isMap  bool
	keys   []string // of a map
	values []any
	hash   uint64 // 0: it cannot be shared
}

// addHash adds hashes of parts. A part with the hash 0 cannot be shared, and so the whole
// cannot.
func (c *composite) addHash(parts ...uint64) {
	for _, part := range parts {
		if part == 0 || c.hash == 0 {
			c.hash = 0
			return
		}
		high, low := bits.Mul64(c.hash^part, hashOfTrue)
		c.hash = (high ^ low) | 1
	}
}

// composite returns the map or list that consists of c, and its hash: 0 if it is not shared.
func (s *shared) composite(c composite) (any, uint64) {
	if c.hash == 0 || len(c.values) > mostShared {
		return c.create(), 0
	}
	// The lowest bit of a hash is always 1.
	set := &s.composites[c.hash>>1%compositeSets]
	for i, old := range set {
		if old.hash == c.hash && c.equals(old.value) {
			if i > 0 {
				copy(set[1:], set[:i])
				set[0] = old
			}
			return old.value, c.hash
		}
	}
	value := c.create()
	copy(set[1:], set[:])
	set[0] = kept{c.hash, value}
	return value, c.hash
}

func (c composite) create() any {
	if c.isMap {
		return mapOf(c.keys, c.values)
	}
	return append(make([]any, 0, len(c.values)), c.values...)
}

func mapOf(keys []string, values []any) map[string]any {
	m := make(map[string]any, len(keys))
	for i, key := range keys {
		m[key] = values[i]
	}
	return m
}

// equals reports whether a shared value consists of c. The parts of both are shared, so maps
// and lists in them are equal only if they are the same.
func (c composite) equals(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if !c.isMap || len(value) != len(c.keys) {
			return false
		}
		for i, key := range c.keys {
			if v, found := value[key]; !found || !identical(v, c.values[i]) {
				return false
			}
		}
		return true
	case []any:
		if c.isMap || len(value) != len(c.values) {
			return false
		}
		for i, v := range value {
			if !identical(v, c.values[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// identical reports whether two values are equal and, for maps and lists, the same.
func identical(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isMap := b.(map[string]any)
		return isMap && reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
	case []any:
		b, isList := b.([]any)
		return isList && len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}
