package ruletest

import (
	"path"
	"strings"

	"reconcel/rules/source"
)

// expectations parses an entry of `then`.
func (p *parser) expectations(f *source.Field) (all []Expectation) {
	n := f.Value
	switch f.Key.Value {
	case "objects", "exactly":
		how := subset
		if f.Key.Value == "exactly" {
			how = whole
		}
		for _, m := range readManifests(n) {
			all = append(all, objects{m, how})
		}
	case "absent":
		for _, r := range p.references(n) {
			all = append(all, absent{r})
		}
	case "count":
		for _, entry := range n.Fields {
			all = append(all, count{p.kind(entry.Key.Pos, entry.Key.Value), int(entry.Value.Value.(int64))})
		}
	case "status":
		all = append(all, status{f.Key.Pos, n.Plain().(map[string]any)})
	case "conditions":
		for i := range n.Fields {
			all = append(all, p.condition(&n.Fields[i]))
		}
	case "events":
		e := events{pos: f.Key.Pos}
		for _, item := range items(n) {
			e.want = append(e.want, p.event(item))
		}
		all = append(all, e)
	case "writes":
		all = append(all, writes{f.Key.Pos, int(n.Value.(int64))})
	case "snapshot":
		all = append(all, snapshot{n.Pos, text(n)})
	}
	return all
}

func (p *parser) condition(f *source.Field) Expectation {
	c := condition{pos: f.Key.Pos, kind: f.Key.Value}
	switch f.Value.Kind {
	case source.Null:
		return c
	case source.Map:
		c.want = f.Value.Plain().(map[string]any)
	default:
		c.want = map[string]any{"status": f.Value.Plain()}
	}
	switch s := c.want["status"].(type) {
	case bool: // An unquoted True is a boolean in YAML.
		c.want["status"] = map[bool]string{true: "True", false: "False"}[s]
	case string:
		if s != "True" && s != "False" && s != "Unknown" {
			p.complain(f.Value.Pos, "", "conditions.%s: expected True, False or Unknown, got %q", c.kind, s)
		}
	}
	return c
}

// event parses an Event: a reason, a type and a reason, or a map.
func (p *parser) event(n *source.Node) event {
	if n.Kind == source.Map {
		e := event{pos: n.Pos, kind: text(at(n, "type")), reason: text(at(n, "reason")), note: text(at(n, "note"))}
		if about := at(n, "about"); about != nil {
			e.about = p.reference(about)
		}
		return e
	}
	kind, reason, both := strings.Cut(text(n), " ")
	if !both {
		kind, reason = "", kind
	}
	if both && kind != "Normal" && kind != "Warning" || strings.Contains(reason, " ") {
		p.complain(n.Pos, "for more, write {type: …, reason: …, note: …}", "events: %q is neither a reason nor Normal or Warning and a reason", text(n))
	}
	return event{pos: n.Pos, kind: kind, reason: reason}
}

func (p *parser) references(n *source.Node) (all []*Reference) {
	for _, item := range items(n) {
		all = append(all, p.reference(item))
	}
	return all
}

// reference parses the name of an object, or of a kind for all its objects.
func (p *parser) reference(n *source.Node) *Reference {
	parts := strings.Split(text(n), "/")
	r := p.kind(n.Pos, parts[0])
	switch len(parts) {
	case 1:
	case 2:
		r.Name = parts[1]
	case 3:
		r.Namespace, r.Name = parts[1], parts[2]
	}
	_, err := path.Match(r.Name, "")
	empty := false
	for _, part := range parts {
		empty = empty || part == ""
	}
	if len(parts) > 3 || empty || err != nil {
		p.complain(n.Pos, "write Kind, Kind/name or Kind/namespace/name", "%q names no object", text(n))
	}
	return r
}

// kind parses the name of a kind.
func (p *parser) kind(pos source.Pos, name string) *Reference {
	if strings.Contains(name, "/") {
		p.complain(pos, "write Kind, or Kind.group", "%q is not the name of a kind", name)
	}
	return &Reference{Pos: pos, Kind: name}
}

// pattern reports whether the name may match several objects.
func (r *Reference) pattern() bool { return strings.ContainsAny(r.Name, "*?[") }

// at returns the value of a key, or nil.
func at(n *source.Node, key string) *source.Node { return n.At(key) }

// text returns the string value of a node, or "" if there is none.
func text(n *source.Node) string {
	if n == nil {
		return ""
	}
	s, _ := n.Value.(string)
	return s
}

// items returns the items of a list. A single value is a list of one item.
func items(n *source.Node) []*source.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind != source.List:
		return []*source.Node{n}
	}
	return n.Items
}

func texts(n *source.Node) (all []source.String) {
	for _, item := range items(n) {
		all = append(all, source.String{Value: text(item), Pos: item.Pos})
	}
	return all
}
