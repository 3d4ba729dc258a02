package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/syntax"
)

// namespaceList is a flag that names the namespaces that are followed; none
// stands for all. One that was given and is empty is a mistake, lest more is
// followed than somebody meant.
type namespaceList []string

func (n *namespaceList) flag(flags *pflag.FlagSet, usage string) {
	flags.Var(n, "namespaced", usage)
}

// String, Type and Set implement pflag.Value.
func (n *namespaceList) String() string { return strings.Join(*n, ",") }

// Type is what help calls the value.
func (n *namespaceList) Type() string { return "namespaces" }

// Set adds names between commas.
func (n *namespaceList) Set(s string) error { return n.add(strings.Split(s, ",")) }

// Append implements pflag.SliceValue.
func (n *namespaceList) Append(s string) error { return n.add([]string{s}) }

// GetSlice implements pflag.SliceValue.
func (n *namespaceList) GetSlice() []string { return *n }

// Replace implements pflag.SliceValue.
func (n *namespaceList) Replace(names []string) error {
	if len(names) == 0 {
		return errors.New("it names no namespace; leave it out to follow all")
	}
	*n = nil
	return n.add(names)
}

func (n *namespaceList) add(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%q is no name of a namespace (write names, with commas between them: team-a,team-b)", name)
		}
		if !slices.Contains(*n, name) {
			*n = append(*n, name)
		}
	}
	return nil
}

func (n namespaceList) has(name string) bool { return len(n) == 0 || slices.Contains(n, name) }

// confine adds a complaint about everything in the rules that is known to lead
// out of the namespaces that are followed.
func (l *loading) confine(to namespaceList) {
	l.namespaces = to
	if l.program == nil || len(to) == 0 {
		return
	}
	found := l.clusterScoped(schema.Builtin())
	l.eachRule(func(r *rules.Rule) {
		outside := func(what, id, namespace string, at syntax.Pos) {
			if namespace != "" && !to.has(namespace) {
				found = append(found, syntax.NewError(at, r.Name,
					fmt.Sprintf("%s %q: namespace %q is not among those that are followed: %s", what, id, namespace, strings.Join(to, ", ")),
					"add it to --namespaced"))
			}
		}
		for _, c := range r.Children {
			namespace, at := c.FixedNamespace()
			outside("child", c.ID, namespace, at)
		}
		for _, k := range r.Lookups {
			namespace, at := k.FixedNamespace()
			outside("lookup", k.ID, namespace, at)
		}
	})
	l.complaints = append(l.complaints, syntax.Collect(l.sources, found)...)
}

// clusterScoped returns a complaint about every kind in the rules that lives in
// no namespace, if only some are followed.
func (l loading) clusterScoped(kinds *schema.Set) (found []*syntax.Error) {
	if len(l.namespaces) == 0 {
		return nil
	}
	l.eachRule(func(r *rules.Rule) {
		complain := func(gvk runtimeschema.GroupVersionKind, what string, at syntax.Pos) {
			if k := kinds.Kind(gvk); k != nil && !k.Namespaced {
				found = append(found, syntax.NewError(at, r.Name,
					fmt.Sprintf("%s: %s is cluster-scoped, which cannot be followed with --namespaced", what, gvk.Kind),
					"follow all namespaces, or leave the rule out"))
			}
		}
		complain(r.GVK, "for", r.Pos)
		for _, c := range r.Children {
			complain(c.GVK, fmt.Sprintf("child %q", c.ID), c.Pos)
		}
		for _, k := range r.Lookups {
			complain(k.GVK, fmt.Sprintf("lookup %q", k.ID), k.Pos)
		}
	})
	return found
}

// idle returns a warning about every rule that has nothing to do in the
// namespaces that are followed.
func (l loading) idle() (found []*syntax.Error) {
	if len(l.namespaces) == 0 {
		return nil
	}
	l.eachRule(func(r *rules.Rule) {
		if !slices.ContainsFunc(l.namespaces, r.Follows) {
			found = append(found, syntax.NewError(r.Pos, r.Name,
				"for.namespaces has none of those that are followed: "+l.namespaces.String(), "the rule has nothing to do"))
		}
	})
	return found
}

func (l loading) eachRule(visit func(*rules.Rule)) {
	for _, primary := range l.program.Primaries() {
		for _, r := range primary.Rules {
			visit(r)
		}
	}
}
