package check

import (
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types"

	"reconcel/rules/source"
)

func (w walker) elements(n *source.Node, p *fieldSchema, where string) {
	if p != nil && p.is != list && p.is != anything {
		w.wants(n.Pos, p, types.NewListType(types.DynType), where)
		p = nil
	}
	var items *fieldSchema
	if p != nil && p.is == list {
		items = w.all.items(p)
		w.count(n, p, where)
		w.merged(p, w.elementsOf(n), where)
	}
	if w.partial == statusFields {
		w.partial = wholeValue
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", where, i)
		if item.Kind == source.Null && items != nil && !w.fitsWithin(types.NullType, items, 1) {
			w.errorf(item.Pos, "%s: expected %s, got null", at, w.expected(items))
		}
		w.value(item, items, at)
	}
}

func (w walker) count(n *source.Node, p *fieldSchema, where string) {
	size := int64(len(n.Items))
	if p.MaxItems != nil && size > *p.MaxItems && !slices.ContainsFunc(n.Items, mayVanish) {
		w.errorf(n.Pos, "%s: has %d elements, at most %d are allowed", where, size, *p.MaxItems)
	}
	if p.MinItems != nil && size < *p.MinItems && !n.Lacking {
		w.errorf(n.Pos, "%s: has %d elements, at least %d are needed", where, size, *p.MinItems)
	}
}

// mayVanish reports whether an element may be absent at run time.
func mayVanish(n *source.Node) bool { return n.Kind == source.Interp && len(n.Parts) == 1 }
