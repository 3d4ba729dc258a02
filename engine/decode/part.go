package decode

import (
	"slices"

	"reconcel/rules/projection"
)

// A Part is a value for an entry of a map. The zero Part leaves the entry out.
type Part struct {
	Value any
	hash  uint64 // 0: it is not shared
	kept  bool
}

// TextPart returns a text as a Part.
func TextPart(text string) Part { return Part{text, hashOfText(text), true} }

// Of returns what a projection keeps of a part that was read as a whole.
func (p Part) Of(keep *projection.Projection) Part {
	switch {
	case keep == nil:
		return Part{}
	case keep.All():
		return p
	}
	return Part{Value: keep.Of(p.Value), kept: true}
}

// Alone returns the part of a map that no other map is equal to.
func (p Part) Alone() Part {
	p.hash = 0
	return p
}

// An Entry is a key of a map with its value.
type Entry struct {
	Key string
	Part
}

// Part reads what a projection keeps of the next value. Equal small maps and lists share
// memory: they must not be changed.
func (d *Decoder) Part(p *projection.Projection) (Part, error) {
	v, hash, err := d.value(p)
	return Part{v, hash, p != nil}, err
}

// Map reads a map. It calls entry for each key, which must read exactly one value, and
// returns what to store for it. Defaults are added for keys that are absent.
func (d *Decoder) Map(defaults []Entry, entry func(key string) (Part, error)) (Part, error) {
	b := mapBuilder{Decoder: d, all: composite{isMap: true, hash: hashOfMap}, bottomKey: len(d.keys), bottom: len(d.stack)}
	err := d.Object(func(key string) error {
		part, err := entry(key)
		if part.kept && err == nil {
			b.add(key, part)
		}
		return err
	})
	if err != nil {
		return Part{}, err
	}
	for _, e := range defaults {
		if !b.has(e.Key) {
			b.add(e.Key, e.Part)
		}
	}
	return b.end(), nil
}

// A mapBuilder collects the entries of a map, and creates it when they are known: perhaps
// there is an equal one. A map with many entries, or with a key twice, is created at once.
type mapBuilder struct {
	*Decoder
	all               composite
	bottomKey, bottom int
	m                 map[string]any
}

func (b *mapBuilder) add(key string, part Part) {
	keys := b.keys[b.bottomKey:]
	if b.m == nil && (len(keys) == mostShared || slices.Contains(keys, key)) {
		b.m = mapOf(keys, b.stack[b.bottom:])
	}
	if b.m != nil {
		b.m[key] = part.Value
		return
	}
	b.keys, b.stack = append(b.keys, key), append(b.stack, part.Value)
	b.all.addHash(hashOfKey(key), part.hash)
}

func (b *mapBuilder) has(key string) bool {
	_, found := b.m[key]
	return found || b.m == nil && slices.Contains(b.keys[b.bottomKey:], key)
}

func (b *mapBuilder) end() Part {
	part := Part{Value: b.m, kept: true}
	if b.m == nil {
		b.all.keys, b.all.values = b.keys[b.bottomKey:], b.stack[b.bottom:]
		part.Value, part.hash = b.shared.composite(b.all)
	}
	b.keys = b.keys[:b.bottomKey]
	b.pop(b.bottom)
	return part
}
