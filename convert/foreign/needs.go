package foreign

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/rules/source"
)

// Element is the step from a list to its elements in a path.
const Element = "[]"

// Needs are the fields of the primary that a rule requires, though its schema does not.
type Needs struct {
	Root  *spec.Schema // of the primary; nil: it is not known
	paths [][]string
}

// Add requires a field.
func (n *Needs) Add(path []string) { n.paths = WithPath(n.paths, path) }

// WithPath adds a path unless it is there.
func WithPath(paths [][]string, path []string) [][]string {
	if slices.ContainsFunc(paths, func(other []string) bool { return slices.Equal(other, path) }) {
		return paths
	}
	return append(paths, path)
}

// MayLack reports whether the last field of a path may be absent.
func (n *Needs) MayLack(path []string) bool {
	if len(path) == 0 || path[0] == "status" {
		return false
	}
	if path[0] == "metadata" {
		return len(path) > 1 && (path[1] == "labels" || path[1] == "annotations")
	}
	at, lacks := n.Root, false
	for _, step := range path {
		if at == nil {
			return false
		}
		at, lacks = fieldOf(at, step)
	}
	return lacks
}

// fieldOf returns the schema of a field, or nil, and whether the field may be absent.
func fieldOf(at *spec.Schema, step string) (*spec.Schema, bool) {
	if step == Element {
		if at.Items == nil {
			return nil, false
		}
		return at.Items.Schema, false
	}
	if p, ok := at.Properties[step]; ok {
		return &p, p.Default == nil && !slices.Contains(at.Required, step)
	}
	if at.AdditionalProperties != nil {
		return at.AdditionalProperties.Schema, true
	}
	return nil, false
}

// Node returns the checks of the rule, or nil without any.
func (n *Needs) Node() *yaml.Node {
	if len(n.paths) == 0 {
		return nil
	}
	out := List()
	for _, path := range n.paths {
		if slices.ContainsFunc(n.paths, func(longer []string) bool {
			return len(longer) > len(path) && slices.Equal(longer[:len(path)], path)
		}) {
			continue // The check of the longer path includes it.
		}
		message := strings.ReplaceAll(source.PathOf(path), `["`+Element+`"]`, Element) + " must be set"
		out.Content = append(out.Content, Map("expression", Text(strings.Join(n.Tests(path), " && ")), "message",
			Text(message)))
	}
	return out
}

// Covered returns the conditions that the checks of the rule include.
func (n *Needs) Covered() (all []string) {
	for _, path := range n.paths {
		all = append(all, n.Tests(path)...)
	}
	return all
}

// Tests returns the conditions that together say that a field exists.
func (n *Needs) Tests(path []string) []string { return n.tests("self", nil, path) }

// tests returns the conditions that together say that a path exists below a value.
func (n *Needs) tests(value string, before, path []string) (all []string) {
	for i, step := range path {
		here := append(slices.Clone(before), path[:i+1]...)
		if step == Element {
			item := "item"
			if inner := n.tests(item, here, path[i+1:]); len(inner) > 0 {
				all = append(all, value+".all("+item+", "+strings.Join(inner, " && ")+")")
			}
			return all
		}
		value += Selection(step)
		if n.MayLack(here) {
			all = append(all, "has("+value+")")
		}
	}
	return all
}

// Selection returns a step as expressions have it.
func Selection(field string) string {
	for i, r := range field {
		if !source.IsIdent(r) || i == 0 && !source.IsLetter(r) && r != '_' {
			return ".`" + field + "`"
		}
	}
	return "." + field
}
