package syntax

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxReplicas is how many interchangeable objects a child may be.
const maxReplicas = 500

var iteratorShape = shape{
	doc: "A list, for each element of which there is an object.",
	keys: []key{
		{name: "name", required: true, value: identifierName,
			doc: "Stands for the element in `template`, `readyWhen` and `failWhen` of this child. It or `index` must be part of the object's name."},
		{name: "index", value: identifierName, doc: "Stands for the number of the element, from 0."},
		{name: "in", required: true, value: listExpr, doc: "An expression that gives the list, like `self.spec.workers`. It may use the names before it."},
	},
	wrong: map[string]wrongKey{
		"as":    {hint: "write name", means: "name"},
		"items": {hint: "write in", means: "in"},
		"idx":   {hint: "write index", means: "index"},
	},
}

// An iterating name waits until all names of the rule are known.
type iterating struct {
	scope    scope
	name     String
	iterator *Iterator
}

// readForEach reads what a child is made for each element of. What could not
// be read leaves an unfit iterator: the child is none that is made once.
func (s scope) readForEach(n *yaml.Node, names *names) []*Iterator {
	if n == nil {
		return nil
	}
	unfit := []*Iterator{{Pos: s.text.pos(n), Unfit: true}}
	if n.Kind != yaml.SequenceNode {
		names.loseIterators(n)
		if !broken(n) {
			s.errorf(s.text.pos(n), "expected a list, got %s", describe(n)).Hint = "write it like [{name: item, in: self.spec.items}]"
		}
		return unfit
	}
	if len(n.Content) == 0 {
		s.errorf(s.text.pos(n), "is empty").Hint = "write it like [{name: item, in: self.spec.items}], or remove the key"
		return unfit
	}
	var iterators []*Iterator
	own := make(map[string]Pos)
	for i, item := range n.Content {
		iterators = append(iterators, s.index(i).readIterator(item, own, names))
	}
	return iterators
}

func (s scope) readIterator(n *yaml.Node, own map[string]Pos, names *names) *Iterator {
	it := &Iterator{Pos: s.text.pos(n), Unfit: true}
	if s.isShortIterator(n) {
		names.loseIterators(n)
		return it
	}
	t := s.table(n, &iteratorShape)
	if t == nil {
		names.nameless = true
		return it
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if value := n.Content[i+1]; t[n.Content[i].Value] != value {
			names.lost = append(names.lost, scalarText(value))
		}
	}
	it.In = s.key("in").expr(t["in"])
	okIndex := true
	name, ok := s.key("name").iteratorName(t["name"], it, own, names)
	it.Name = name
	if t["index"] != nil {
		it.Index, okIndex = s.key("index").iteratorName(t["index"], it, own, names)
	}
	if it.Unfit = !ok || !okIndex; it.Unfit {
		names.lost = append(names.lost, it.Name.Value, it.Index.Value)
	}
	return it
}

// isShortIterator complains about a name with its list behind it.
func (s scope) isShortIterator(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 || n.Content[1].Kind != yaml.ScalarNode || broken(n.Content[0]) {
		return false
	}
	key := n.Content[0]
	if name := key.Value; iteratorShape.has(name) || iteratorShape.meant(name) != "" || !IsName(name) {
		return false
	}
	s.errorf(s.text.pos(key), "expected name and in, got %q", key.Value).Hint =
		"write {name: " + key.Value + ", in: " + quoted(n.Content[1].Value) + "}"
	return true
}

// iteratorName reads a name for the expressions of a child, and whether it is
// fit and not taken by the same forEach. Whether it is free in the rule is seen
// later.
func (s scope) iteratorName(n *yaml.Node, it *Iterator, own map[string]Pos, names *names) (String, bool) {
	name, ok := s.literal(n)
	if !ok {
		names.nameless = true
		return name, false
	}
	if why := identifier(name.Value); why != "" {
		s.errorf(name.Pos, "%q %s", name.Value, why)
		names.misname(name.Value)
		return name, false
	}
	if at, taken := own[name.Value]; taken {
		s.errorf(name.Pos, "%q is taken, at %s", name.Value, at)
		return name, false
	}
	own[name.Value] = name.Pos
	names.iterators = append(names.iterators, iterating{s, name, it})
	return name, true
}

// settle complains about names of iterators that something else of the rule
// has. Two children may use the same ones.
func (names *names) settle() {
	for _, n := range names.iterators {
		if at, taken := names.taken[n.name.Value]; taken {
			n.scope.errorf(n.name.Pos, "%q is taken, at %s", n.name.Value, at)
			n.iterator.Unfit = true
			names.lost = append(names.lost, n.iterator.Name.Value, n.iterator.Index.Value)
		}
	}
}

// loseIterators notes the names in something that may have been meant as a
// forEach.
func (names *names) loseIterators(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			names.lost = append(names.lost, scalarText(n.Content[i]), scalarText(n.Content[i+1]))
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind == yaml.MappingNode {
				names.loseIterators(item)
			}
		}
	default:
		names.nameless = names.nameless || broken(n)
	}
}

// checkMany complains about keys that do not go together with how many objects
// a child is.
func (s scope) checkMany(c *Child, written map[string]*yaml.Node) {
	forEach, replicas := written["forEach"], written["replicas"]
	if forEach != nil && replicas != nil {
		s.errorf(s.text.pos(replicas), "replicas cannot stand beside forEach").Hint =
			"forEach makes a child for each element, replicas as many as a number says: choose one"
		c.Replicas = nil
	}
	unavailable := written["maxUnavailable"]
	if unavailable == nil {
		return
	}
	var needs []string
	if written["onChange"] == nil || c.OnChange.Value != "" && c.OnChange.Value != replace {
		needs = append(needs, "onChange: replace")
	}
	if forEach == nil && replicas == nil {
		needs = append(needs, "forEach or replicas")
	}
	if len(needs) > 0 {
		s.errorf(s.text.pos(unavailable), "maxUnavailable needs %s", strings.Join(needs, ", and ")).Hint =
			"it says how many of several objects may be replaced at a time"
		c.MaxUnavailable = nil
	}
}

var percentage = regexp.MustCompile(`^[0-9.]+ *%$`)

// replicas reads how many objects there are to be.
func (s scope) replicas(n *yaml.Node) *Expr {
	e, v, ok := s.number(n)
	if ok && (v < 0 || v > maxReplicas) {
		s.errorf(e.Pos, "must be from 0 to %d, got %d", maxReplicas, v)
		return nil
	}
	return e
}

// maxUnavailable reads how many objects may be replaced at a time.
func (s scope) maxUnavailable(n *yaml.Node) *Expr {
	e, v, ok := s.number(n)
	if ok && v < 1 {
		s.errorf(e.Pos, "must be at least 1, got %d", v)
		return nil
	}
	return e
}

// number reads an expression that gives a whole number, and the number if that
// is written out.
func (s scope) number(n *yaml.Node) (*Expr, int64, bool) {
	e := s.expr(n)
	if e == nil {
		return nil, 0, false
	}
	if percentage.MatchString(e.Text) {
		s.errorf(e.Pos, "expected a whole number, got a percentage")
		return nil, 0, false
	}
	if !celInt.MatchString(e.Text) {
		return e, 0, false
	}
	v, err := strconv.ParseInt(e.Text, 0, 64)
	return e, v, err == nil
}
