package syntax

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// What a rules file is known by.
const (
	APIVersion = "reconcel.dev/v1alpha1"
	Kind       = "Rules"
)

// maxRules is how many rules the sources may hold together.
const maxRules = 256

var documentShape = shape{
	doc: "Rules for reconcel: which objects a resource owns, and what its status is.",
	keys: []key{
		{name: "apiVersion", doc: "The version of the language.", value: constant(APIVersion), required: true},
		{name: "kind", doc: "Says that this is a file of rules.", value: constant(Kind), required: true},
		{name: "rules", doc: "The rules. All files that are given to reconcel make one set.", required: true,
			value: &schema{Type: types{"array"}, Items: mapOf(&ruleShape), MaxItems: new(maxRules)}},
	},
}

// Parse reads rules files. Its error is an Errors with every complaint about
// every source. The File holds whatever could be read in spite of them, so
// that a compiler can add its own complaints; it must not be put to work.
func Parse(sources []Source) (*File, error) {
	p := &parser{file: &File{}, names: make(map[string]Pos)}
	for _, source := range sources {
		p.source(newText(source))
	}
	return p.file, Collect(sources, p.errs).Err()
}

func (p *parser) source(t *text) {
	if err := t.check(); err != nil {
		p.errs = append(p.errs, err)
		return
	}
	docs, err := t.load()
	if err != nil {
		p.errs = append(p.errs, err)
	}
	found := err != nil
	x := expander{scope: scope{parser: p, text: t}, sizes: make(map[*yaml.Node]int), active: make(map[*yaml.Node]bool)}
	for _, doc := range docs {
		for _, root := range doc.Content {
			x.expand(root)
			if isNull(root) {
				continue
			}
			found = true
			x.scope.document(root)
		}
	}
	if !found {
		x.scope.errorf(Pos{t.name, 1, 1}, "file holds no rules").Hint =
			fmt.Sprintf("write a document with apiVersion: %s, kind: %s and rules:", APIVersion, Kind)
	}
}

func (s scope) document(n *yaml.Node) {
	if broken(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		s.errorf(s.text.pos(n), "expected a map with apiVersion, kind and rules, got %s", describe(n))
		return
	}
	if !s.isRules(n) {
		return
	}
	t := s.table(n, &documentShape)
	list := s.key("rules")
	if at := t["rules"]; at != nil && isNull(at) {
		// It may be the beginning of a file, or what is left of a template. No rules
		// are a lot to say: some take all that they have made with them.
		list.errorf(s.text.pos(at), "is empty").Hint = "write rules: [] if there are to be none"
	}
	for i, item := range list.list(t["rules"]) {
		if len(s.file.Rules) == maxRules {
			s.errorf(s.text.pos(item), "more than %d rules", maxRules)
			return
		}
		list.index(i).readRule(item)
	}
}

// isRules tells whether a document says that it is one of ours, and complains
// if it does not. What it holds is not looked at then: it may be anything.
func (s scope) isRules(n *yaml.Node) bool {
	ok := true
	for _, want := range [][2]string{{"apiVersion", APIVersion}, {"kind", Kind}} {
		key, value := want[0], want[1]
		found := false
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value != key {
				continue
			}
			found = true
			got := n.Content[i+1]
			if isNull(got) {
				got.Line, got.Column = n.Content[i].Line, n.Content[i].Column
			}
			switch {
			case broken(got):
				ok = false
			case got.Kind != yaml.ScalarNode || got.Value != value:
				name := describe(got)
				if got.Kind == yaml.ScalarNode && !isNull(got) {
					name = fmt.Sprintf("%q", got.Value)
				}
				s.key(key).errorf(s.text.pos(got), "expected %q, got %s", value, name).Hint = "write " + key + ": " + value
				ok = false
			}
			break
		}
		if !found {
			s.errorf(s.text.pos(n), "missing %s", key).Hint = "write " + key + ": " + value
			ok = false
		}
	}
	return ok
}
