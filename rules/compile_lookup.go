package rules

import (
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Lookup is one compiled entry of lookups: objects that a rule reads but does not
// own.
type Lookup struct {
	dependency
	ID  string
	Pos source.Pos
	GVK schema.GroupVersionKind

	namespace *text // nil: the primary's own
	name      *text // or
	names     *data // or
	selector  *data // or fixed, if it is literal
	fixed     labels.Selector
	where     source.Pos // of name, names or selector
	gone      *types.Unknown
	// mayHavePrimary: the rule has a patch, and the lookup is for the kind of the primary.
	mayHavePrimary bool

	src *syntax.Lookup
}

// One reports whether the lookup names one object.
func (l *Lookup) One() bool { return l.name != nil }

// lookup compiles a lookup after the lets and lookups that it reads.
func (c *expressions) lookup(l *Lookup, from source.Pos) {
	c.compileOnce(&l.dependency, l.ID, l.src.Entry, from, func() {
		c.prefix = l.src.Entry + ": "
		if n := l.src.Namespace; n != nil {
			l.namespace = c.text(n, "namespace")
			c.literalPart(n, labelNames, "namespace", "", nameOfNamespace)
		}
		switch {
		case l.src.Name != nil:
			l.name = c.text(l.src.Name, "name")
			c.literalPart(l.src.Name, namingOf(l.GVK.GroupKind()), "name", "", "name of a "+l.GVK.Kind)
			l.where = l.src.Name.Pos
		case l.src.Names != nil:
			l.where = l.src.Names.Pos
			l.names = c.data(l.src.Names, "names")
			l.names.beStrict() // A list that lacks a name would be another list.
		case l.src.Selector != nil:
			c.lookupSelector(l)
		}
	})
}

func (c *expressions) lookupSelector(l *Lookup) {
	l.where = l.src.Selector.Pos
	l.selector = c.data(l.src.Selector, "selector")
	l.selector.beStrict() // A selector that lacks an entry would select more objects.
	if isLiteral(l.src.Selector) {
		selector, err := expr.SelectorOf(l.src.Selector.Plain())
		if err != nil {
			c.complain(l.where, "selector: %v", err)
		}
		l.fixed = selector
	}
}
