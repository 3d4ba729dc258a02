package syntax

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var childShape = shape{
	keys:     []string{"id", "when", "after", "readyWhen", "ifExists", "onDelete", "template"},
	required: []string{"id", "template"},
	later:    []string{"forEach", "replicas", "failWhen", "onChange", "maxUnavailable", "ignoreFields"},
}

// readChildren reads the objects that a primary owns.
func (s scope) readChildren(n *yaml.Node, names *names) []*Child {
	if n != nil && n.Kind != yaml.SequenceNode {
		names.lose(n)
	}
	items := s.list(n)
	ids := make([]string, 0, len(items))
	var children []*Child
	for i, item := range items {
		if id := childID(item); id != "" {
			ids = append(ids, id)
		}
		if child := s.index(i).readChild(item, names); child != nil {
			children = append(children, child)
		}
	}
	// Only now are all ids known.
	for i, item := range items {
		s.index(i).named(childID(item)).checkAfter(item, ids)
	}
	return children
}

// childID returns the id of a child before anything of it has been checked.
func childID(n *yaml.Node) string {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == "id" {
			return scalarText(n.Content[i+1])
		}
	}
	return ""
}

func (s scope) readChild(n *yaml.Node, names *names) *Child {
	s = s.named(childID(n))
	t := s.table(n, &childShape)
	if t == nil {
		names.nameless = true
		return nil
	}
	c := &Child{Pos: s.text.pos(n), Entry: s.entry}
	id, ok := s.key("id").literal(t["id"])
	names.nameless = names.nameless || !ok
	c.ID, c.Unfit = id, !ok || !s.key("id").claim(id, names)
	c.When = s.key("when").expr(t["when"])
	for i, item := range s.key("after").list(t["after"]) {
		if after, ok := s.key("after").index(i).literal(item); ok {
			c.After = append(c.After, after)
		}
	}
	c.ReadyWhen = s.key("readyWhen").expr(t["readyWhen"])
	c.IfExists = s.key("ifExists").ifExists(t["ifExists"])
	c.OnDelete = s.key("onDelete").oneOf(t["onDelete"], "delete", "orphan")
	if t["template"] != nil {
		c.Template = s.key("template").readTemplate(t["template"])
	}
	return c
}

func (s scope) ifExists(n *yaml.Node) String {
	if scalarText(n) == "adopt" {
		s.errorf(s.text.pos(n), "adopt is not supported yet").Hint = "write fail, which is the default"
		return String{}
	}
	return s.oneOf(n, "fail")
}

// checkAfter complains about names in after that are no other child's.
func (s scope) checkAfter(n *yaml.Node, ids []string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	own := childID(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		after := n.Content[i+1]
		if n.Content[i].Value != "after" || after.Kind != yaml.SequenceNode {
			continue
		}
		first := make(map[string]bool)
		for j, item := range after.Content {
			s.key("after").index(j).checkFollows(item, own, ids, first)
		}
		return
	}
}

func (s scope) checkFollows(n *yaml.Node, own string, ids []string, before map[string]bool) {
	id := scalarText(n)
	switch {
	case id == "" || !isText(n) || strings.Contains(id, "${"):
		return // Complained about already.
	case id == own:
		s.errorf(s.text.pos(n), "a child cannot come after itself")
	case !slices.Contains(ids, id):
		s.errorf(s.text.pos(n), "no child has the id %q", id).Hint = suggest(id, ids)
	case before[id]:
		s.errorf(s.text.pos(n), "%q is named twice", id)
	}
	before[id] = true
}
