package decode

import "hash/maphash"

const (
	keySlots   = 512
	valueSlots = 2048
	// longestShared is the length in bytes up to which strings are shared. Longer ones
	// are rarely equal.
	longestShared = 64
)

// Strings share the memory of equal strings: keys, kinds, namespaces, labels. Their size is
// fixed: a new string takes the slot of an old one. They are not safe for concurrent use.
type Strings struct {
	keys   [keySlots]string
	values [valueSlots]any // strings, so that the interface is shared too
}

var seed = maphash.MakeSeed()

// key returns the string of b.
func (s *Strings) key(b []byte) string {
	if len(b) > longestShared {
		return string(b)
	}
	slot := &s.keys[maphash.Bytes(seed, b)%keySlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}

// value returns the string of b as an any.
func (s *Strings) value(b []byte) any {
	if len(b) > longestShared {
		return string(b)
	}
	slot := &s.values[maphash.Bytes(seed, b)%valueSlots]
	if old, _ := (*slot).(string); old != string(b) || *slot == nil {
		*slot = string(b)
	}
	return *slot
}
