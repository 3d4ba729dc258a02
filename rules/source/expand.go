package source

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

const (
	// MaxDepth is the maximum nesting of maps and lists.
	MaxDepth   = 100
	maxAliased = 50_000 // total number of nodes behind the aliases of a file
)

// An expander replaces aliases by their targets, and merge keys by the entries to
// merge. It rejects tags, aliases inside their own target, and alias bombs, because
// no field accepts them. It marks such nodes as broken, so that no more errors
// about them are recorded.
type expander struct {
	value   Value
	sizes   map[*yaml.Node]int // of expanded nodes with an anchor
	active  map[*yaml.Node]bool
	aliased int
	depth   int
}

// isBroken reports whether an error about the node is recorded.
func isBroken(n *yaml.Node) bool { return n.Kind == 0 }

func (x *expander) reject(n *yaml.Node, message, hint string) {
	x.value.ErrorAt(x.value.text.pos(n), "%s", message).Hint = hint
	*n = yaml.Node{Line: n.Line, Column: n.Column}
}

// expand expands n in place and returns the number of nodes in it.
func (x *expander) expand(n *yaml.Node) int {
	if size, seen := x.sizes[n]; seen {
		return size
	}
	if x.depth++; x.depth > MaxDepth {
		x.reject(n, fmt.Sprintf("nested more than %d levels deep", MaxDepth), "")
	}
	if x.depth == x.value.Reader.RuleDepth {
		v := x.value
		v.node = n
		if name := v.Peek("name"); name.IsText() {
			x.value.rule = name.Scalar()
		}
	}
	x.active[n] = true
	size := 1
	if tag := x.tagOf(n); tag != "" {
		x.reject(n, fmt.Sprintf("YAML reads %q as a tag, and tags have no meaning here", tag), x.quoteTagged(n))
	}
	for i, child := range n.Content {
		if child.Kind == yaml.AliasNode {
			child = x.aliasTarget(child)
			n.Content[i] = child
			size += x.sizes[child]
			continue
		}
		size += x.expand(child)
	}
	if n.Kind == yaml.MappingNode {
		x.merge(n)
	}
	if x.depth--; x.depth < x.value.Reader.RuleDepth {
		x.value.rule = ""
	}
	delete(x.active, n)
	if n.Anchor != "" {
		x.sizes[n] = size
	}
	return size
}

// aliasTarget returns the node that an alias refers to.
func (x *expander) aliasTarget(alias *yaml.Node) *yaml.Node {
	target := alias.Alias
	if x.active[target] {
		x.reject(alias, fmt.Sprintf("alias *%s refers to itself", alias.Value), "")
		return alias
	}
	// Each size includes the expanded aliases inside, so the sum limits the work of
	// everything that walks the tree later.
	before := x.aliased
	x.aliased += x.expand(target)
	switch {
	case before > maxAliased:
		*alias = yaml.Node{} // An error is already recorded.
	case x.aliased > maxAliased:
		x.reject(alias, fmt.Sprintf("aliases expand to more than %d values", maxAliased), "")
	default:
		return target
	}
	return alias
}

// tagOf returns the tag of a node as written in the file. A single ! is not visible
// in a scalar node, but ignoring it would silently drop a negation.
func (x *expander) tagOf(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle != 0 {
		return n.Tag
	}
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		if c := x.scalarStart(n); c.peek() == '!' {
			return "!"
		}
	}
	return ""
}

// scalarStart returns the position of a scalar after its anchor.
func (x *expander) scalarStart(n *yaml.Node) cursor {
	c := x.value.text.cursor(x.value.text.pos(n))
	c.skipAnchor()
	return c
}

func (x *expander) quoteTagged(n *yaml.Node) string {
	c := x.scalarStart(n)
	line := x.value.text.line(c.line)
	value, column := valueOf(line)
	if c.peek() != '!' || column != c.column {
		return "quote the whole value"
	}
	return quoteIt(value)
}

// merge replaces << by the entries of the named maps. An explicit entry takes
// precedence, then the first map with the key.
func (x *expander) merge(n *yaml.Node) {
	var content, merged []*yaml.Node
	has := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag != "!!merge" {
			has[key.Value] = true
			content = append(content, key, value)
			continue
		}
		sources := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			sources = value.Content
		}
		for _, source := range sources {
			if source.Kind != yaml.MappingNode {
				if !isBroken(source) {
					x.value.ErrorAt(x.value.text.pos(key), "<<: expected a map or a list of maps, got %s", describeNode(source))
				}
				continue
			}
			merged = append(merged, source.Content...)
		}
	}
	if len(content) == len(n.Content) {
		return
	}
	for i := 0; i+1 < len(merged); i += 2 {
		if !has[merged[i].Value] {
			has[merged[i].Value] = true
			content = append(content, merged[i], merged[i+1])
		}
	}
	n.Content = content
}
