package crossplane

import (
	"slices"

	"reconcel/rules/source"
)

// put replaces the value at a path of data. It returns the data: nil grows to what the path
// needs. with returns the new value for the old one, which may be nil.
func put(at *source.Node, steps []step, pos source.Pos,
	with func(old *source.Node) (*source.Node, error)) (*source.Node, error) {
	if len(steps) == 0 {
		return with(at)
	}
	s, rest := steps[0], steps[1:]
	if at == nil || at.Kind == source.Null {
		at = &source.Node{Kind: source.Map, Pos: pos}
		if s.key == "" {
			at.Kind = source.List
		}
	}
	switch {
	case s.wildcard && at.Kind == source.List:
		for i, item := range at.Items {
			changed, err := put(item, rest, pos, with)
			if err != nil {
				return nil, err
			}
			at.Items[i] = changed
		}
		return at, nil
	case s.isIndex && at.Kind == source.List && s.index <= len(at.Items):
		var old *source.Node
		if s.index < len(at.Items) {
			old = at.Items[s.index]
		}
		changed, err := put(old, rest, pos, with)
		if err != nil {
			return nil, err
		}
		at.Items = slices.Replace(at.Items, s.index, min(s.index+1, len(at.Items)), changed)
		return at, nil
	case s.key != "" && at.Kind == source.Map:
		for i, f := range at.Fields {
			if f.Key.Value == s.key {
				changed, err := put(f.Value, rest, pos, with)
				if err != nil {
					return nil, err
				}
				at.Fields[i].Value = changed
				return at, nil
			}
		}
		changed, err := put(nil, rest, pos, with)
		if err != nil {
			return nil, err
		}
		at.Fields = append(at.Fields, source.Field{Key: source.String{Value: s.key, Pos: pos}, Value: changed})
		return at, nil
	}
	return nil, &loss{pos, "the value above the field is not a map or list that is written out",
		"write the whole value as an expression"}
}
