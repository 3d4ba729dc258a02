package projection

import (
	"cmp"
	"slices"
)

// A Builder collects what is read of a value. Its zero value keeps only the presence of
// the value. It is not safe for concurrent use.
type Builder struct {
	all    bool
	fields map[string]*Builder
	each   *Builder
	prefix string
}

// Field returns the builder of a field of a map.
func (b *Builder) Field(name string) *Builder {
	f := b.fields[name]
	if f == nil {
		if b.fields == nil {
			b.fields = map[string]*Builder{}
		}
		f = &Builder{}
		b.fields[name] = f
	}
	return f
}

// Each returns the builder of every element of a list and every entry of a map.
func (b *Builder) Each() *Builder {
	if b.each == nil {
		b.each = &Builder{}
	}
	return b.each
}

// Below returns the builder of the field at the end of a path.
func (b *Builder) Below(path ...string) *Builder {
	for _, name := range path {
		b = b.Field(name)
	}
	return b
}

// Keep keeps the whole value.
func (b *Builder) Keep() { b.all = true }

// KeepFields keeps the whole values of some fields.
func (b *Builder) KeepFields(names ...string) {
	for _, name := range names {
		b.Field(name).Keep()
	}
}

// KeepPrefix keeps the whole values of the fields whose names have a prefix. A Builder has
// one prefix at most.
func (b *Builder) KeepPrefix(prefix string) { b.prefix = prefix }

// Projection returns what has been collected so far.
func (b *Builder) Projection() *Projection { return union(b) }

// union returns what any of the builders keeps, or nil if there are none.
func union(builders ...*Builder) *Projection {
	builders = slices.DeleteFunc(builders, func(b *Builder) bool { return b == nil })
	if len(builders) == 0 {
		return nil
	}
	var each []*Builder
	for _, b := range builders {
		if b.all {
			return whole
		}
		if b.each != nil {
			each = append(each, b.each)
		}
	}
	out := &Projection{each: union(slices.Clone(each)...)}
	for _, b := range builders {
		out.prefix = cmp.Or(out.prefix, b.prefix)
		for name := range b.fields {
			if out.fields == nil {
				out.fields = map[string]*Projection{}
			}
			if _, done := out.fields[name]; done {
				continue
			}
			named := slices.Clone(each)
			for _, b := range builders {
				named = append(named, b.fields[name])
			}
			out.fields[name] = union(named...)
		}
	}
	return out
}
