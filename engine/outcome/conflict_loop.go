package outcome

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// A Culprit is who changed our fields of an object, as far as the object shows it.
type Culprit struct {
	manager      string   // current owner of the fields; empty if they were removed
	fields       []string // the first of our changed fields
	more         int      // number of further fields
	Installation string   // namespace/name, if it is another reconcel
	Insists      bool     // the other installation restores its rendering at once
	Deletes      bool     // it deleted the object
}

func (c Culprit) String() string {
	who := "an unknown writer"
	switch {
	case c.Deletes:
		return "another writer deleted it"
	case c.Installation != "":
		who = fmt.Sprintf("reconcel %q", c.Installation)
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

// CulpritOf compares an object with its rendering, and with the fields that we
// owned after our last write.
func CulpritOf(u *unstructured.Unstructured, desired map[string]any, before managedfields.Entry,
	own string) (c Culprit) {
	differing := func() []string {
		return managedfields.ChildEntry(u.Object).Set().Union(before.Set()).Differing(u.Object, desired)
	}
	if other := u.GetAnnotations()[rules.AnnotationInstallation]; other != "" && other != own {
		c.Installation, c.Insists = other, other < own
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

// setFields keeps the first of the fields, and the number of the others.
func (c *Culprit) setFields(fields []string) {
	const most = 3
	slices.Sort(fields)
	fields = slices.Compact(fields)
	c.fields = fields[:min(len(fields), most)]
	c.more = len(fields) - len(c.fields)
}
