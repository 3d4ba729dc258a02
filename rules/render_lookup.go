package rules

import (
	"errors"
	"fmt"
	"k8s.io/apimachinery/pkg/util/json"
	"slices"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
)

// queries run the lookups of a rule.
type queries struct {
	*runState
	settling    *settling
	texts       *texts
	dataValues  *dataValues
	liveObjects *liveObjects
}

// lookupValue returns the value of a lookup: the object, or the list.
func (r *queries) lookupValue(i int) any {
	v := &r.lookups[i]
	if v.done {
		return v.value
	}
	l := r.rule.Lookups[i]
	outer, loop := r.current, r.element
	r.current, r.element = nil, element{}
	value, res := r.findObjects(l)
	r.current, r.element = outer, loop
	switch {
	case res.err != nil:
		v.value = types.WrapErr(res.err.In(expr.Join("lookups", l.ID)))
	case res.unknown != nil:
		v.value = res.unknown
	default:
		v.value = value
	}
	v.done = true
	return v.value
}

func (r *queries) findObjects(l *Lookup) (any, result) {
	if r.in.Lookup == nil {
		if l.One() {
			return nil, result{unknown: l.gone}
		}
		return []any{}, result{}
	}
	if l.names != nil {
		return r.findNamed(l)
	}
	q, res := r.lookupQuery(l)
	if !res.ok() {
		return nil, res
	}
	found, err := r.in.Lookup(l, q)
	switch {
	case errors.Is(err, ErrUnwatched):
		return nil, result{unknown: l.gone}
	case err != nil:
		return nil, failedAt(l.where, err.Error())
	case !l.One():
		list := make([]any, len(found))
		for i, o := range found {
			list[i] = r.looked(l, o)
		}
		return list, result{}
	case len(found) == 0:
		r.settling.noteAbsent(l, q)
		return nil, result{unknown: l.gone}
	}
	return r.looked(l, found[0]), result{}
}

// findNamed returns the objects of a list of names, in its order. Names that are
// repeated or have no object are left out.
func (r *queries) findNamed(l *Lookup) (any, result) {
	q, res := r.lookupNamespace(l)
	if !res.ok() {
		return nil, res
	}
	if q.Everywhere {
		return nil, failedAt(l.where, "names: the namespace is empty, but names selects objects of one")
	}
	names, res := r.names(l)
	if !res.ok() {
		return nil, res
	}
	list := []any{}
	for _, name := range names {
		q.Name = name
		found, err := r.in.Lookup(l, q)
		switch {
		case errors.Is(err, ErrUnwatched):
			return nil, result{unknown: l.gone}
		case err != nil:
			return nil, failedAt(l.where, err.Error())
		case len(found) > 0:
			list = append(list, r.looked(l, found[0]))
		}
	}
	return list, result{}
}

// names computes the names of a lookup, each once.
func (r *queries) names(l *Lookup) (names []string, res result) {
	native, res := r.native(l, "names", l.names)
	if !res.ok() {
		return nil, res
	}
	all, isList := native.([]any)
	if !isList {
		return nil, failedAt(l.where, "names: must be a list")
	}
	if len(all) > maxChildren {
		return nil, failedAt(l.where, fmt.Sprintf("names: more than %d names", maxChildren))
	}
	for i, item := range all {
		name, isText := item.(string)
		if !isText || name == "" {
			return nil, failedAt(l.where, fmt.Sprintf("names[%d]: must be a name", i))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, result{}
}

// lookupNamespace computes the namespace of a lookup.
func (r *queries) lookupNamespace(l *Lookup) (q Query, res result) {
	q.Namespace = r.primary.home
	if l.namespace == nil {
		return q, result{}
	}
	if q.Namespace, res = r.texts.text(l.namespace); !res.ok() {
		return q, res
	}
	q.Everywhere = q.Namespace == ""
	if why := r.unreadable(q); why != "" {
		return q, failedAt(l.namespace.pos, "namespace: "+why)
	}
	return q, result{}
}

// lookupQuery computes the query of a lookup.
func (r *queries) lookupQuery(l *Lookup) (q Query, res result) {
	if q, res = r.lookupNamespace(l); !res.ok() {
		return q, res
	}
	if l.name != nil {
		q.Name, res = r.texts.text(l.name)
		if res.ok() && q.Name == "" {
			res.err = &expr.Error{Pos: l.where, Message: "name: is empty"}
		}
		return q, res
	}
	if q.Selector = l.fixed; q.Selector != nil {
		return q, result{}
	}
	native, res := r.native(l, "selector", l.selector)
	if !res.ok() {
		return q, res
	}
	var err error
	if q.Selector, err = expr.SelectorOf(native); err != nil {
		return q, failedAt(l.where, "selector: "+err.Error())
	}
	return q, result{}
}

// native returns the value of a key of a lookup in the form of a JSON decoder.
func (r *queries) native(l *Lookup, key string, of *data) (any, result) {
	v := r.dataValues.value(of)
	switch w := v.(type) {
	case *types.Unknown:
		return nil, result{unknown: w}
	case *types.Err:
		return nil, result{err: asError(w, l.where)}
	}
	out, err := jsonValue(v)
	if err != nil {
		return nil, failedAt(l.where, key+": "+err.Error())
	}
	return out, result{}
}

// jsonValue returns a value in the form of a JSON decoder.
func jsonValue(v any) (out any, err error) {
	text, err := (&expr.Appender{Limit: maxObject}).AppendNative(nil, v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out)
}

// unreadable returns why a lookup may not read a namespace, or "".
func (r *queries) unreadable(q Query) string {
	allowed := r.rule.allow.readNamespaces
	switch {
	case q.Everywhere:
		if !slices.Contains(allowed, "*") {
			return `reading all namespaces needs allow.read.namespaces: ["*"]`
		}
	case len(validation.IsDNS1123Label(q.Namespace)) > 0:
		return "it is not the name of a namespace"
	case r.rule.ForCluster() && !matchesAny(allowed, q.Namespace):
		return "allow.read.namespaces does not include it"
	case q.Namespace != r.primary.home && !matchesAny(allowed, q.Namespace):
		return "it is not the primary's namespace, and allow.read.namespaces does not include it"
	}
	return ""
}
