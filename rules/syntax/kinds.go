package syntax

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
)

// maxKinds is the maximum number of kinds of one rule, which is compiled for each.
const maxKinds = 50

// selectionSchema describes for: a map for one kind, or a list of such maps for several.
func selectionSchema() *source.Schema {
	s := *forShape.Schema()
	s.Type = source.Types{"object", "array"}
	s.Items, s.MinItems, s.MaxItems = forShape.Schema(), 1, new(maxKinds)
	return &s
}

// readSelections reads for.
func readSelections(v source.Value) []For {
	if v.IsText() {
		return []For{readForCluster(v)}
	}
	if !v.IsList() {
		f := readFor(v)
		f.Entry = "for"
		return []For{f}
	}
	if v.Len() == 0 {
		v.Errorf("is empty").Hint = "write it like {apiVersion: apps/v1, kind: Deployment}"
		return []For{{Pos: v.Pos(), Entry: "for"}}
	}
	var all []For
	for _, item := range v.PeekItems() {
		if len(all) == maxKinds {
			item.Errorf("more than %d kinds", maxKinds)
			break
		}
		f := readFor(item)
		f.Entry = item.Path()
		f.differsFrom(all, item)
		all = append(all, f)
	}
	return all
}

// differsFrom records an error if the kind is among the others, in the same or another
// version: it is watched once.
func (f *For) differsFrom(others []For, v source.Value) {
	if f.APIVersion.Value == "" || f.Kind.Value == "" {
		return
	}
	for i := range others {
		other := &others[i]
		switch {
		case f.groupKind() != other.groupKind():
		case f.APIVersion.Value == other.APIVersion.Value:
			v.Peek("kind").Errorf("%s is already in the list, at %s", f.Kind.Value, other.Kind.Pos)
			return
		default:
			v.Peek("apiVersion").Errorf("%s is %s at %s: a kind can be watched in only one version",
				f.Kind.Value, other.APIVersion.Value, other.APIVersion.Pos)
			return
		}
	}
}

func (f *For) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(f.APIVersion.Value, f.Kind.Value).GroupKind()
}

// forEachOf returns the rule once for each of its kinds.
func (r *Rule) forEachOf(kinds []For) []*Rule {
	var all []*Rule
	for i, f := range kinds {
		one := *r
		one.For, one.Others = f, slices.Delete(slices.Clone(kinds), i, i+1)
		one.Digest = r.Digest.And(f.Digest)
		all = append(all, &one)
	}
	return all
}

// Written returns the rules as they are written: each once for each of its kinds.
func (f *File) Written() iter.Seq[[]*Rule] {
	return func(yield func([]*Rule) bool) {
		for begin := 0; begin < len(f.Rules); {
			end := begin + 1 + len(f.Rules[begin].Others)
			if !yield(f.Rules[begin:end]) {
				return
			}
			begin = end
		}
	}
}
