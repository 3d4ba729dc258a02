package infer

import (
	"maps"
	"slices"

	"reconcel/rules/check"
	"reconcel/rules/crd"
	"reconcel/rules/lint"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// maxRounds is how often the checker is asked which fields may be absent. It warns about the
// first field of a path, so each round answers for one more step.
const maxRounds = 8

// definitions returns what kinds are like. A field that the checker warns about, because it
// may be absent where it is read, becomes required.
func (in *inference) definitions(file *syntax.File,
	kinds []*primary) (all []*crd.Definition, mistakes []*source.Error, err error) {
	readAt := map[source.Pos]*field{}
	for _, p := range kinds {
		collect(p.slot, readAt, map[*slot]bool{})
	}
	for round := 0; ; round++ {
		all = nil
		var objects []map[string]any
		for _, p := range kinds {
			d := in.definition(p)
			object, err := d.Object()
			if err != nil {
				return nil, nil, err
			}
			all, objects = append(all, d), append(objects, object)
		}
		set, err := in.set.With(objects)
		if err != nil {
			return nil, nil, err
		}
		found, more := check.Check(file, set, nil), false
		for _, w := range found.Warnings {
			if f := readAt[w.Pos]; w.Check == lint.AbsentField && f != nil && !f.required {
				f.required, more = true, true
			}
		}
		if !more || round == maxRounds {
			return all, found.Errors, nil
		}
	}
}

// collect finds the fields that are read at each position.
func collect(s *slot, readAt map[source.Pos]*field, seen map[*slot]bool) {
	if s == nil {
		return
	}
	if s = s.find(); seen[s] {
		return
	}
	seen[s] = true
	collect(s.inner, readAt, seen)
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		f := s.fields[name].find()
		if s.schema == nil {
			for _, pos := range f.reads {
				readAt[pos] = f
			}
		}
		collect(f.slot, readAt, seen)
	}
}
