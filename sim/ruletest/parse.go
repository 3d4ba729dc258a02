package ruletest

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"reconcel/rules/source"
)

// Parse parses a test file. Its error is a source.Errors with all complaints.
func Parse(file source.File) (*File, error) {
	root, err := fileShape.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &parser{}
	f := &File{Name: file.Name, Rules: texts(at(root, "rules")), CRDs: texts(at(root, "crds")), source: file}
	names := map[string]source.Pos{}
	for _, n := range items(at(root, "cases")) {
		c := p.readCase(n)
		if first, taken := names[c.Name]; taken {
			p.complain(c.Pos, "", "case %q: the name is already used at line %d", c.Name, first.Line)
		}
		names[c.Name] = c.Pos
		f.Cases = append(f.Cases, c)
	}
	if len(f.Cases) == 0 {
		p.complain(at(root, "cases").Pos, "", "there are no cases")
	}
	if err := source.Collect([]source.File{file}, p.errs).Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// A parser builds a File from a document that already matches fileShape. It
// collects the errors that the shape cannot find.
type parser struct {
	entry string // prefix of complaints: the current case and step
	errs  []*source.Error
}

func (p *parser) complain(pos source.Pos, hint, format string, args ...any) {
	p.errs = append(p.errs, source.NewError(pos, "", p.entry+fmt.Sprintf(format, args...), hint))
}

func (p *parser) readCase(n *source.Node) *Case {
	c := &Case{Name: text(at(n, "name")), Pos: n.Pos, Given: readManifests(at(n, "given"))}
	p.entry = fmt.Sprintf("case %q: ", c.Name)
	if strings.ContainsFunc(c.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		p.complain(at(n, "name").Pos, "write one line of text", "the name has characters that cannot be printed")
	}
	defer func() { p.entry = "" }()
	if primary := at(n, "primary"); primary != nil {
		c.Primary = p.reference(primary)
		if c.Primary.Name == "" || c.Primary.pattern() {
			p.complain(primary.Pos, "write Kind/name", "primary: %q is not the name of one object", text(primary))
		}
	}
	for i, step := range items(at(n, "steps")) {
		p.entry = fmt.Sprintf("case %q: step %d: ", c.Name, i+1)
		s := Step{Pos: step.Pos}
		for _, action := range items(at(step, "when")) {
			if a := p.action(action); a != nil {
				s.When = append(s.When, a)
			}
		}
		if then := at(step, "then"); then != nil {
			for i := range then.Fields {
				s.Then = append(s.Then, p.expectations(&then.Fields[i])...)
			}
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}

func readManifests(n *source.Node) (all []*Manifest) {
	for _, item := range items(n) {
		m := &Manifest{Pos: item.Pos}
		if item.Kind == source.Map {
			m.Object = item.Plain().(map[string]any)
		} else {
			m.File = text(item)
		}
		all = append(all, m)
	}
	return all
}

// verbs are the keys that identify an action.
var verbs = []string{"apply", "patch", "delete", "ready", "advance", "fail", "restart", "rules"}

// action parses an entry of `when`. It returns nil after a complaint.
func (p *parser) action(n *source.Node) Action {
	var given []string
	for _, verb := range verbs {
		if at(n, verb) != nil {
			given = append(given, verb)
		}
	}
	switch len(given) {
	case 0:
		p.complain(n.Pos, "write one of "+strings.Join(verbs, ", "), "nothing is done")
		return nil
	case 1:
	default:
		p.complain(n.Pos, "write a list: - "+given[0]+": …", "%s are more than one action", strings.Join(given, " and "))
		return nil
	}
	verb := given[0]
	value := at(n, verb)
	if verb != "patch" {
		for _, key := range []string{"merge", "json", "subresource"} {
			if wrong := at(n, key); wrong != nil {
				p.complain(wrong.Pos, "", "%s belongs to patch", key)
			}
		}
	}
	switch verb {
	case "apply":
		return apply{readManifests(value)}
	case "patch":
		return p.patch(n)
	case "delete":
		return remove{p.references(value)}
	case "ready":
		return ready{p.references(value)}
	case "advance":
		by, _ := time.ParseDuration(text(value)) // The shape has already checked it.
		return advance{by, value.Pos}
	case "fail":
		return p.failure(value)
	case "rules":
		return &reload{pos: value.Pos, paths: texts(value)}
	}
	if value.Value == false {
		p.complain(value.Pos, "remove it", "restart: false does nothing")
	}
	return restart{value.Pos}
}

func (p *parser) patch(n *source.Node) Action {
	a := patch{object: p.reference(at(n, "patch")), subresource: text(at(n, "subresource")), pos: at(n, "patch").Pos}
	if a.object.Name == "" {
		p.complain(a.pos, "write Kind/name", "patch: %q names no object", text(at(n, "patch")))
	}
	merge, json := at(n, "merge"), at(n, "json")
	switch {
	case merge != nil && json != nil:
		p.complain(json.Pos, "", "patch: merge and json are two patches")
	case merge != nil:
		a.kind, a.body = "merge", merge.Plain()
	case json != nil:
		a.kind, a.body = "json", json.Plain()
	default:
		p.complain(a.pos, "add merge: or json:", "patch: the change is missing")
	}
	return a
}

func (p *parser) failure(n *source.Node) Action {
	f := fail{pos: n.Pos, verb: text(at(n, "verb")), namespace: text(at(n, "namespace")), name: text(at(n, "name")), times: 1,
		subresource: text(at(n, "subresource")), reason: text(at(n, "error")), message: text(at(n, "message"))}
	if kind := at(n, "kind"); kind != nil {
		f.kind = p.kind(kind.Pos, text(kind))
	}
	if times := at(n, "times"); times != nil {
		f.times = int(times.Value.(int64))
	}
	if gone := at(n, "lost"); gone != nil && gone.Value == true {
		f.lost = lost
	}
	switch {
	case f.reason != "":
	case f.lost == lost:
		f.reason = "ConnectionLost"
	default:
		f.reason = "InternalError"
	}
	return f
}
