package expr

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// A templateSide is a part of one of the templates that mergePodTemplate() merges.
type templateSide struct {
	of    ast.Expr
	path  []any
	value ref.Val // nil: the template lacks the part
}

// A templateMerge narrows mergePodTemplate() to a part: most come from one template.
type templateMerge struct {
	*narrower
	at  *bound
	use Use
}

func (n *narrower) mergedTemplate(args []ast.Expr, at *bound, path []any, use Use) {
	m := templateMerge{n, at, use}
	m.fields(templateSide{of: args[0], value: n.value(args[0], at)}, templateSide{of: args[1], value: n.value(args[1], at)}, "", path)
}

func (m templateMerge) record(s templateSide, rest []any) {
	m.part(s.of, m.at, append(slices.Clip(s.path), rest...), m.use)
}

// below returns what a side has at a step.
func (m templateMerge) below(s templateSide, step any) templateSide {
	v, ok := ref.Val(nil), false
	m.vars.Silently(func() { v, ok = At(s.value, []any{step}) })
	if !ok {
		v = nil
	}
	return templateSide{s.of, append(slices.Clip(s.path), step), v}
}

// fields narrows what mergeFields does.
func (m templateMerge) fields(base, patch templateSide, place string, path []any) {
	isObject := asMapper(base.value) != nil && asMapper(patch.value) != nil
	keys := podTemplateKeys[place]
	_, isList := base.value.(traits.Lister)
	_, both := patch.value.(traits.Lister)
	switch {
	case !isObject && (keys == nil || !isList || !both):
		m.record(patch, path)
	case len(path) == 0:
		m.record(base, nil)
		m.record(patch, nil)
	case isObject:
		lower, upper := m.below(base, path[0]), m.below(patch, path[0])
		key, _ := path[0].(string)
		if podTemplateUnits[key] && upper.value != nil {
			lower.value = nil
		}
		m.either(lower, upper, placeBelow(place, key), path[1:])
	default:
		m.element(base, patch, place, path)
	}
}

// either narrows a part that one side has, or both.
func (m templateMerge) either(base, patch templateSide, place string, rest []any) {
	switch {
	case patch.value == nil:
		m.part(patch.of, m.at, patch.path, UsedPresence)
		m.record(base, rest)
	case base.value == nil:
		m.record(patch, rest)
	default:
		m.fields(base, patch, place, rest)
	}
}

// element narrows an element of a list, which has the same identity in both lists.
func (m templateMerge) element(base, patch templateSide, place string, path []any) {
	keys := podTemplateKeys[place]
	lists := [2]templateSide{base, patch}
	var elements [2][]ref.Val
	for i, s := range lists {
		elements[i], _ = m.narrower.elements(s.value)
		m.part(s.of, m.at, s.path, UsedExtent)
	}
	var merged ref.Val
	m.vars.Silently(func() { merged = mergeElements(newList(elements[0]), newList(elements[1]), place, keys) })
	if types.IsError(merged) {
		m.failed = true
		return
	}
	for i, s := range lists {
		for _, j := range m.decisive(elements, i, place, path) {
			for _, key := range keys {
				m.part(s.of, m.at, append(slices.Clip(s.path), j, key), UsedValue)
			}
		}
	}
	if key, isKey := path[len(path)-1].(string); len(path) == 2 && isKey && slices.Contains(keys, key) {
		return // It is the same in both.
	}
	var found [2]templateSide
	m.vars.Silently(func() {
		index, _, _ := indexOf(path)
		element, _ := At(merged, []any{index})
		id, _ := identityOf(element, place, keys)
		for i, s := range lists {
			found[i] = templateSide{of: s.of, path: s.path}
			for j, v := range elements[i] {
				if other, _ := identityOf(v, place, keys); other == id {
					found[i] = templateSide{s.of, append(slices.Clip(s.path), moved(path[:1], j)...), v}
				}
			}
		}
	})
	m.either(found[0], found[1], place, path[1:])
}

// mergedPerStep is how many elements are merged in the time of a step of Narrow.
const mergedPerStep = 16

// decisive returns the elements of one of two lists that another identity would change a
// part of the merged list with: a new one, or that of an element of the other list.
func (m templateMerge) decisive(lists [2][]ref.Val, of int, place string, path []any) (indexes []int) {
	keys := podTemplateKeys[place]
	m.vars.Silently(func() {
		merged := func() (part ref.Val, valid bool) {
			all := mergeElements(newList(lists[0]), newList(lists[1]), place, keys)
			part, _ = At(all, path)
			return part, !types.IsError(all)
		}
		now, _ := merged()
		own := lists[of]
		for i := range own {
			for _, other := range append([]ref.Val{nil}, lists[1-of]...) {
				if m.steps += 1 + (len(own)+len(lists[1-of]))/mergedPerStep; m.steps > mostNarrowing {
					m.failed = true
					return
				}
				lists[of] = slices.Clone(own)
				lists[of][i] = identified(own[i], other, keys)
				if then, valid := merged(); valid && !isSame(now, then) {
					indexes = append(indexes, i)
					break
				}
			}
		}
	})
	return indexes
}

// isSame compares values that may be nil.
func isSame(a, b ref.Val) bool {
	if a == nil || b == nil {
		return a == b
	}
	return types.Equal(a, b) == types.True
}

// identified returns an element with the identity of another one, or with one that no other
// has.
func identified(v, other ref.Val, keys []string) ref.Val {
	identity := map[ref.Val]ref.Val{}
	for _, key := range keys {
		identity[types.String(key)] = types.String("\x00")
		if other != nil {
			identity[types.String(key)], _ = identifying(asMapper(other), key)
		}
	}
	return mergeMaps(v, newMap(identity), shallow)
}

func newList(elements []ref.Val) traits.Lister {
	return types.NewRefValList(types.DefaultTypeAdapter, elements)
}
