package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Lookup is one compiled entry of lookups: objects that a rule reads and
// does not own.
type Lookup struct {
	ID  string
	Pos source.Pos
	GVK schema.GroupVersionKind

	namespace *text // nil: the primary's own
	name      *text // or
	selector  *data // with fixed, if nothing of it is computed
	fixed     labels.Selector
	where     source.Pos // of name or selector
	gone      *types.Unknown
	reads     map[string]bool
	state     letState
	src       *syntax.Lookup
}

// One reports whether the lookup names one object.
func (l *Lookup) One() bool { return l.name != nil }

// lookup compiles a lookup after those that it reads.
func (c *compiler) lookup(l *Lookup, from source.Pos) {
	switch l.state {
	case letDone:
		return
	case letBusy:
		path := append(slices.Clone(c.looking[slices.Index(c.looking, l.ID):]), l.ID)
		c.errorf(from, c.src.Name.Value, "%s: %s is a cycle", l.src.Entry, strings.Join(path, " → "))
		return
	}
	l.state = letBusy
	c.looking = append(c.looking, l.ID)
	defer func() { c.looking = c.looking[:len(c.looking)-1] }()
	outer := c.prefix
	c.prefix = l.src.Entry + ": "
	l.reads = c.watched(func() {
		if n := l.src.Namespace; n != nil {
			l.namespace = c.text(n, "namespace")
			c.namespaceName(n, "namespace")
		}
		switch {
		case l.src.Name != nil:
			l.name = c.text(l.src.Name, "name")
			c.objectName(l.src.Name, l.GVK.GroupKind(), "name")
			l.where = l.src.Name.Pos
		case l.src.Selector != nil:
			l.where = l.src.Selector.Pos
			l.selector = c.data(l.src.Selector, "selector")
			l.selector.beStrict() // A selector with less in it selects more.
			if isLiteral(l.src.Selector) {
				selector, err := selectorOf(literal(l.src.Selector))
				if err != nil {
					c.complain(l.where, "selector: %v", err)
				}
				l.fixed = selector
			}
		}
	})
	for id := range l.reads {
		if v := c.rule.vars[id]; v.kind == childVariable {
			c.complain(l.where, "a lookup cannot read the child %q: what is looked up does not hang on what the rule makes", id)
		}
	}
	c.prefix = outer
	l.state = letDone
}

// selectorOf turns a value into a label selector.
func selectorOf(v any) (labels.Selector, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("must be a label selector with matchLabels or matchExpressions")
	}
	if labels, ok := m["matchLabels"].(map[string]any); ok {
		for key, value := range labels {
			if value == nil { // It would count as the empty text.
				return nil, fmt.Errorf("matchLabels[%q] must be text, got null", key)
			}
		}
	}
	var s metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m, &s, true); err != nil {
		return nil, fmt.Errorf("must be a label selector with matchLabels or matchExpressions")
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return nil, fmt.Errorf("is no valid label selector")
	}
	return selector, nil
}

// lookupValue is what a lookup's id stands for: the object, or the list.
func (r *run) lookupValue(i int) any {
	v := &r.lookups[i]
	if v.done {
		return v.value
	}
	l := r.rule.Lookups[i]
	outer := r.current
	r.current = nil
	value, res := r.look(l)
	r.current = outer
	switch {
	case res.err != nil:
		v.value = types.WrapErr(&expr.Error{Pos: res.err.Pos, Message: expr.Join("lookups", l.ID) + ": " + res.err.Message})
	case res.unknown != nil:
		v.value = res.unknown
	default:
		v.value = value
	}
	v.done = true
	return v.value
}

func (r *run) look(l *Lookup) (any, result) {
	if r.in.Lookup == nil {
		if l.One() {
			return nil, result{unknown: l.gone}
		}
		return []any{}, result{}
	}
	q, res := r.query(l)
	if !res.ok() {
		return nil, res
	}
	found, err := r.in.Lookup(l, q)
	switch {
	case errors.Is(err, ErrUnwatched):
		return nil, result{unknown: l.gone}
	case err != nil:
		return nil, result{err: &expr.Error{Pos: l.where, Message: err.Error()}}
	case !l.One():
		list := make([]any, len(found))
		for i, o := range found {
			list[i] = o
		}
		return list, result{}
	case len(found) == 0:
		r.missing(l, q)
		return nil, result{unknown: l.gone}
	}
	return found[0], result{}
}

// query computes what a lookup asks for.
func (r *run) query(l *Lookup) (q Query, res result) {
	q.Namespace = r.primary.home
	if l.namespace != nil {
		if q.Namespace, res = r.text(l.namespace); !res.ok() {
			return q, res
		}
		q.Everywhere = q.Namespace == ""
		if why := r.unreadable(q); why != "" {
			return q, result{err: &expr.Error{Pos: l.namespace.pos, Message: "namespace: " + why}}
		}
	}
	if l.name != nil {
		q.Name, res = r.text(l.name)
		if res.ok() && q.Name == "" {
			res.err = &expr.Error{Pos: l.where, Message: "name: is empty"}
		}
		return q, res
	}
	if q.Selector = l.fixed; q.Selector != nil {
		return q, result{}
	}
	v := r.value(l.selector)
	switch w := v.(type) {
	case *types.Unknown:
		return q, result{unknown: w}
	case *types.Err:
		return q, result{err: asError(w, l.where)}
	}
	native, err := plain(v)
	if err == nil {
		q.Selector, err = selectorOf(native)
	}
	if err != nil {
		return q, result{err: &expr.Error{Pos: l.where, Message: "selector: " + err.Error()}}
	}
	return q, result{}
}

// plain returns a value as a decoder of JSON would.
func plain(v any) (out any, err error) {
	text, err := (&expr.Appender{Limit: maxObject}).AppendNative(nil, v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out)
}

// unreadable says why a lookup may not read a namespace.
func (r *run) unreadable(q Query) string {
	allowed := r.rule.allow.readNamespaces
	switch {
	case q.Everywhere:
		if !slices.Contains(allowed, "*") {
			return `reading all namespaces needs allow.read.namespaces: ["*"]`
		}
	case len(validation.IsDNS1123Label(q.Namespace)) > 0:
		return "it is not the name of a namespace"
	case q.Namespace != r.primary.home && !matchesAny(allowed, q.Namespace):
		return "it is another namespace than the primary's, and allow.read.namespaces does not name it"
	}
	return ""
}

// missing remembers what a lookup did not find, to be named by whatever waits
// for it.
func (r *run) missing(l *Lookup, q Query) {
	name := q.Name
	if q.Namespace != "" {
		name = q.Namespace + "/" + name
	}
	r.absent = append(r.absent, absence{l.ID, l.GVK.Kind + "/" + name})
}

// An absence is a looked-up object that does not exist.
type absence struct{ id, object string }

// trails returns what an unknown waits for. An object that was looked up in
// vain is named instead of the field that was to be read from it.
func (r *run) trails(u *types.Unknown) []string {
	trails := expr.Trails(u)
	for i, t := range trails {
		for _, a := range r.absent {
			if expr.Root(t) == a.id {
				trails[i] = a.object + " (" + a.id + ")"
			}
		}
	}
	slices.Sort(trails)
	return slices.Compact(trails)
}
