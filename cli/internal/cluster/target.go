package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/exit"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A Target selects resources on the command line, as for kubectl.
type Target struct {
	Text       string // the whole argument
	kind, Name string // Name is empty for all resources of the kind
}

// ParseTarget reads KIND or KIND/NAME. It returns false if the text is neither.
func ParseTarget(text string) (Target, bool) {
	kind, name, named := strings.Cut(text, "/")
	ok := kind != "" && named == (name != "") && !strings.Contains(name, "/")
	return Target{text, strings.ToLower(kind), name}, ok
}

// IsOf reports whether the target names a kind: as Foo, foo, foos or by a short name, with or without its group, or its
// version and group. k is nil if the API server does not serve the kind.
func (t Target) IsOf(gvk schema.GroupVersionKind, k *discover.Kind) bool {
	return t.isNamed(gvk, k) || k != nil && t.isAny(gvk, strings.Fields(k.Short))
}

// isNamed is IsOf without short names.
func (t Target) isNamed(gvk schema.GroupVersionKind, k *discover.Kind) bool {
	names := []string{strings.ToLower(gvk.Kind)}
	if k != nil {
		names = append(names, k.GVR.Resource, k.Singular)
	}
	return t.isAny(gvk, names)
}

func (t Target) isAny(gvk schema.GroupVersionKind, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name != "" &&
			(t.kind == name || t.kind == name+"."+gvk.Group || t.kind == name+"."+gvk.Version+"."+gvk.Group)
	})
}

// KindIn returns the kind that the target names, of those that the API server serves. incomplete says which are not
// known. As for kubectl, a short name counts unless it is the name of a kind.
func (t Target) KindIn(served []discover.Kind, incomplete error) (*discover.Kind, error) {
	var found *discover.Kind
	var names []string
	isOf := t.IsOf
	if slices.ContainsFunc(served, func(k discover.Kind) bool { return t.isNamed(k.GVK, &k) }) {
		isOf = t.isNamed
	}
	for i := range served {
		if k := &served[i]; isOf(k.GVK, k) {
			found = k
			names = append(names, k.GVR.GroupResource().String())
		}
	}
	switch {
	case len(names) == 0 && incomplete != nil:
		return nil, fmt.Errorf("%s: %w", t.Text, incomplete)
	case len(names) == 0:
		return nil, exit.Misused("%q: the API server does not serve that kind", t.Text)
	case len(names) > 1:
		slices.Sort(names)
		return nil, exit.Misused("%q: several kinds have that name, add the group: %s", t.Text, strings.Join(names, ", "))
	}
	return found, nil
}

// Kind returns the kind that a target names: of the primaries of rules, unless program is nil, and else of all kinds.
func (c *Cluster) Kind(ctx context.Context, program *rules.Program, t Target) (*discover.Kind, error) {
	if program != nil {
		_, k, err := c.Primary(ctx, program, t)
		if err != nil && !discover.IsUnavailable(err) || k != nil {
			return k, err
		}
	}
	served, incomplete, err := c.Served(ctx)
	if err != nil {
		return nil, err
	}
	return t.KindIn(served, incomplete)
}
