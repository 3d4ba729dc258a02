package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// A culprit is who has changed what is ours of an object, as far as the object
// tells.
type culprit struct {
	manager      string   // of the fields now; "": nobody has them, they were removed
	fields       []string // the first of those that are ours
	more         int      // how many there are besides
	installation string   // namespace/name, if it is another reconcel
	insists      bool     // of the two, the other one restores its rendering at once
}

// String says who changed what.
func (c culprit) String() string {
	who := "somebody"
	switch {
	case c.installation != "":
		who = fmt.Sprintf("reconcel %q", c.installation)
	case c.manager != "":
		who = fmt.Sprintf("%q", c.manager)
	}
	switch {
	case len(c.fields) == 0:
		return who + " changed it"
	case c.more > 0:
		return fmt.Sprintf("%s changed %s and %d more", who, strings.Join(c.fields, ", "), c.more)
	}
	return fmt.Sprintf("%s changed %s", who, strings.Join(c.fields, ", "))
}

// whoChanged finds out who made a repair necessary, by a read: the cache has no
// managers but ours. What cannot be found out holds nothing up.
func (p *pass) whoChanged(ctx context.Context, k Kind, d *rules.Desired, w *written) culprit {
	u, err := p.get(ctx, k, d.Identity)
	if err != nil {
		return culprit{}
	}
	desired, err := d.Object()
	if err != nil {
		return culprit{}
	}
	return culpritOf(u, identifying(desired), w.fields, p.engine.installation)
}

// culpritOf compares an object with what we want of it, and with what we owned
// of it after our last write.
func culpritOf(u *unstructured.Unstructured, desired map[string]any, before managedfields.Entry, own string) (c culprit) {
	differing := func() []string {
		return managedfields.ChildEntry(u.Object).Set().Union(before.Set()).Differing(u.Object, desired)
	}
	if other := u.GetAnnotations()[rules.AnnotationInstallation]; other != "" && other != own {
		c.installation, c.insists = other, other < own
		c.setFields(differing())
		return c
	}
	manager, taken := managedfields.TakenBy(u.Object, before)
	if len(taken) == 0 {
		taken = differing()
	}
	c.manager = manager
	c.setFields(taken)
	return c
}

// setFields keeps the first of the fields, and how many there are besides.
func (c *culprit) setFields(fields []string) {
	const most = 3
	slices.Sort(fields)
	fields = slices.Compact(fields)
	c.fields = fields[:min(len(fields), most)]
	c.more = len(fields) - len(c.fields)
}
