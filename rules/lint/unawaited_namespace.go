package lint

import (
	"regexp"

	"reconcel/rules/source"
)

// unawaitedNamespace finds a child in a namespace that another child creates, if it does not wait for that child. It is
// then also created in an existing namespace of that name, which has another owner.
func (c *child) unawaitedNamespace() {
	if c.namespace == "" || c.finalizes {
		return
	}
	alike := c.in.named[objectName{core("Namespace"), c.namespace}]
	for _, home := range alike[:min(len(alike), maxAlike)] {
		if home.finalizes || home.IfExists.Value == "adopt" || !home.sameObjects(c) ||
			c.in.awaited(c)[home.ID.Value] || c.in.awaited(home)[c.ID.Value] {
			continue
		}
		at := c.template.at("metadata", "namespace")
		w := c.find(UnawaitedNamespace, posOf(at), "%s: %s creates this namespace, and nothing waits for it: the object is "+
			"also created in a namespace of that name that others own", at.where, home.Entry)
		w.Hint = "write after: [" + home.ID.Value + "]"
		return
	}
}

// awaited returns the ids of the children that a child may wait for: those that it names, directly or through lets,
// lookups and other children.
func (r *rule) awaited(c *child) map[string]bool {
	w := waits{in: r, ids: map[string]bool{}, followed: map[string]bool{}}
	w.child(c)
	return w.ids
}

// unawaited are reads for which nothing waits.
var unawaited = regexp.MustCompile(`\b(?:included|existing|previous|byKey)\([^()]*\)|\b[A-Za-z_]\w*\.\?`)

// waits are what a child may wait for.
type waits struct {
	in       *rule
	ids      map[string]bool // of children
	followed map[string]bool // names
}

func (w *waits) child(c *child) {
	for _, id := range c.After {
		w.name(id.Value)
	}
	for e := range c.Template.Expressions() {
		w.expression(e)
	}
	for _, it := range c.ForEach {
		w.expression(it.In)
	}
	w.expression(c.When)
	w.expression(c.Replicas)
}

func (w *waits) expression(e *source.Expr) {
	if e == nil {
		return
	}
	text := unawaited.ReplaceAllString(quoted.ReplaceAllString(e.Text, `""`), "")
	for _, id := range identifiers.FindAllString(text, -1) {
		w.name(id)
	}
}

// name follows the name of a let, a lookup or a child. Other words of an expression are not known.
func (w *waits) name(id string) {
	if w.followed[id] {
		return
	}
	w.followed[id] = true
	for e := range w.in.expressionsOf(id, "") {
		w.expression(e)
	}
	for _, l := range w.in.src.Lookups {
		if l.ID.Value != id {
			continue
		}
		for _, n := range []*source.Node{l.Name, l.Names, l.Namespace, l.Selector} {
			for e := range n.Expressions() {
				w.expression(e)
			}
		}
	}
	for _, c := range w.in.children {
		if c.ID.Value == id {
			w.ids[id] = true
			w.child(c)
		}
	}
}
