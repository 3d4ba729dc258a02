package expr

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"reconcel/rules/schema"
	"reconcel/rules/source"
)

// MergeApply is the function that merges two values of a type of Kubernetes as the API server merges the applies of two
// managers. Its first argument is the type.
const MergeApply = "mergeApply"

// unknownType returns what is wrong if a call of mergeApply() names no type.
func unknownType(src *source.Expr, a *ast.AST) (wrong *Issue) {
	ast.PostOrderVisit(a.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().IsMemberFunction() || e.AsCall().FunctionName() != MergeApply ||
			len(e.AsCall().Args()) == 0 {
			return
		}
		of := e.AsCall().Args()[0]
		name, literal := textLiteral(of)
		i := Issue{Pos: Position(src, a, of.ID())}
		switch {
		case !literal:
			i.Message = `mergeApply() takes the type as a text in quotes, such as "v1/PodTemplateSpec"`
		case schema.TypeReference(name) == nil:
			i.Message = fmt.Sprintf("mergeApply(): %q is not a type of Kubernetes", name)
			i.Hint = "write the version of an API and a type, such as v1/PodTemplateSpec or apps/v1/Deployment; " +
				"deepMerge(a, b) merges any maps"
		default:
			return
		}
		wrong = &i
	}))
	return wrong
}

// mergeApply merges its third argument over its second one, by the lists and maps that the OpenAPI of their type says
// have parts of their own: x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type.
func mergeApply(args ...ref.Val) ref.Val {
	of := mergedTypeOf(textOf(args[0]))
	if of == nil {
		return failf("mergeApply(): %q is not a type of Kubernetes", textOf(args[0]))
	}
	return mergeFields(&mergePath{}, of, args[1], args[2])
}

// A path leads to what is merged.
type mergePath struct {
	in   *mergePath
	name string
}

func (p *mergePath) String() string {
	if p.in == nil {
		return p.name
	}
	return strings.TrimPrefix(p.in.String()+"."+p.name, ".")
}

func mergeFields(at *mergePath, of *mergedType, base, patch ref.Val) ref.Val {
	if left, right := asMapper(base), asMapper(patch); left != nil && right != nil && !of.isAtomic() {
		return mergeObjects(at, of, left, right)
	}
	left, ok := base.(traits.Lister)
	right, both := patch.(traits.Lister)
	if ok && both && of != nil && of.isList {
		return mergeElements(at, of, left, right)
	}
	return patch
}

func asMapper(v ref.Val) traits.Mapper {
	m, _ := v.(traits.Mapper)
	return m
}

func mergeObjects(at *mergePath, of *mergedType, base, patch traits.Mapper) ref.Val {
	out := map[ref.Val]ref.Val{}
	for it := base.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		out[key] = base.Get(key)
	}
	for it := patch.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		value := patch.Get(key)
		if old := out[key]; old != nil {
			name := textOf(key)
			value = mergeFields(&mergePath{at, name}, of.below(name), old, value)
		}
		if types.IsError(value) {
			return value
		}
		out[key] = value
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, out)
}

// elements are the elements of a list with their identities.
type elements struct {
	ids    []string
	values map[string]ref.Val
}

// mergeElements merges the elements of two lists that have the same identity. The order
// is that of the API server (structured-merge-diff, visitListItems): common elements have
// the order of the patch, those of the base alone stay before the common ones that they
// precede, and those of the patch alone come where the patch has them, but as late as
// possible.
func mergeElements(at *mergePath, of *mergedType, base, patch traits.Lister) ref.Val {
	left, err := of.elements(at, base)
	if err != nil {
		return err
	}
	right, err := of.elements(at, patch)
	if err != nil {
		return err
	}
	var common []string // those that have not been merged yet
	for _, id := range right.ids {
		if left.values[id] != nil {
			common = append(common, id)
		}
	}
	var merged []ref.Val
	done := map[string]bool{}
	for l, r := 0, 0; l < len(left.ids) || r < len(right.ids); {
		if l < len(left.ids) {
			id := left.ids[l]
			switch {
			case right.values[id] == nil:
				merged = append(merged, left.values[id])
				l++
				continue
			case done[id] || len(common) > 0 && common[0] != id:
				l++
				continue
			}
		}
		id := right.ids[r]
		value := right.values[id]
		if old := left.values[id]; old != nil {
			value = mergeFields(at, of.each, old, value)
			common = common[1:]
		}
		if types.IsError(value) {
			return value
		}
		merged = append(merged, value)
		done[id] = true
		r++
	}
	return types.NewRefValList(types.DefaultTypeAdapter, merged)
}

func (t *mergedType) elements(at *mergePath, of traits.Lister) (all elements, err ref.Val) {
	all.values = map[string]ref.Val{}
	for it := of.Iterator(); it.HasNext() == types.True; {
		element := it.Next()
		id, err := t.identity(at, element)
		if err != nil {
			return all, err
		}
		switch {
		case all.values[id] == nil:
		case len(t.keys) == 0:
			return all, failf("mergeApply(): two elements of %s are the same", at)
		default:
			return all, failf("mergeApply(): two elements of %s have the same %s", at, strings.Join(t.keys, " and "))
		}
		all.ids = append(all.ids, id)
		all.values[id] = element
	}
	return all, nil
}

// identity returns what identifies an element, or an error.
func (t *mergedType) identity(at *mergePath, element ref.Val) (id string, err ref.Val) {
	if len(t.keys) == 0 {
		return fmt.Sprintf("%v", element.Value()), nil
	}
	m := asMapper(element)
	if m == nil {
		return "", failf("mergeApply(): the elements of %s must be maps", at)
	}
	for i, key := range t.keys {
		value, found := m.Find(types.String(key))
		if !found {
			value = t.defaults[i]
		}
		if value == nil {
			return "", failf("mergeApply(): an element of %s has no %s", at, key)
		}
		id += fmt.Sprintf("%v\x00", value.Value())
	}
	return id, nil
}
