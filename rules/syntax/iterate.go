package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"reconcel/rules/source"
)

// A child may have usualObjects objects, or as many as its maxObjects says, up to MostObjects.
const (
	usualObjects = 500
	MostObjects  = 5000
)

var iteratorShape = source.Shape{
	Doc: "A list. Each element gives an object, or a condition.",
	Keys: []source.Key{
		{Name: "name", Required: true, Value: identifierName,
			Doc: "The name of the element in `template`, `readyWhen` and `failWhen` of this child, or in this condition. It " +
				"or `index` must be part of the object's name, " +
				"or of the condition's type."},
		{Name: "index", Value: identifierName, Doc: "The name of the element's index, from 0."},
		{Name: "in", Required: true, Value: listExpr,
			Doc: "An expression for the list, like `self.spec.workers`. It may use the names before it."},
	},
	Wrong: map[string]source.WrongKey{
		"as":    {Means: "name"},
		"items": {Means: "in"},
		"idx":   {Means: "index"},
	},
}

// iteratorsData is forEach: a list of iterators, or a map of names to lists.
var iteratorsData = &source.Schema{
	Type: source.Types{"object", "array"},
	// The list:
	Items: iteratorShape.Schema(), MinItems: 1,
	// The map:
	Names: identifierName, Others: listExpr, MinProperties: 1,
}

// An iterating is a name of an iterator that settleIterators checks once all names of the
// rule are known.
type iterating struct {
	value    source.Value
	name     source.String
	iterator *Iterator
}

// readForEach reads the lists of forEach. If they cannot be read, it returns an
// unusable iterator, so that the child does not count as a single object.
func readForEach(v source.Value, names *names) []*Iterator {
	if v.Missing() {
		return nil
	}
	unusable := []*Iterator{{Pos: v.Pos(), Unusable: true}}
	switch {
	case v.IsMap() && !v.Peek("in").Missing():
		names.loseIterators(v)
		v.Errorf("expected a list, got a map").Hint = iteratorMap(v.Peek("name").Scalar(), v.Peek("in").Scalar())
		return unusable
	case !v.IsList() && !v.IsMap():
		names.loseIterators(v)
		if !v.Broken() {
			v.Errorf("expected a map or list, got %s", v.Describe()).Hint = "write it like {item: self.spec.items}"
		}
		return unusable
	case v.Len() == 0:
		v.Errorf("is empty").Hint = "write it like {item: self.spec.items}, or remove the key"
		return unusable
	case v.IsMap():
		return readIteratorMap(v, names)
	}
	var iterators []*Iterator
	own := make(map[string]source.Pos)
	for i, item := range v.PeekItems() {
		it := readIterator(item, own, names)
		it.Entry = fmt.Sprintf("forEach[%d].in", i)
		iterators = append(iterators, it)
	}
	return iterators
}

// readIteratorMap reads names with their lists. They run in the order of the file, as
// those of a list do.
func readIteratorMap(v source.Value, names *names) []*Iterator {
	var iterators []*Iterator
	for _, e := range v.Entries() {
		if e.Key.Value == "" {
			v.ErrorAt(e.Key.Pos, "a name is empty")
			names.nameless = true
			continue
		}
		it := &Iterator{Pos: e.Key.Pos, Name: e.Key, Entry: "forEach." + e.Key.Value}
		it.Unusable = !names.declareIterator(e.Key, v, it)
		it.In = e.Value.Expr()
		if it.Unusable {
			names.lost = append(names.lost, it.Name.Value)
		}
		iterators = append(iterators, it)
	}
	return iterators
}

// iteratorMap returns forEach as a map with one list.
func iteratorMap(name, list string) string {
	if !IsName(name) || list == "" {
		name, list = "item", "self.spec.items"
	}
	return "write forEach: {" + name + ": " + source.Quoted(withoutWrap(list)) + "}"
}

func readIterator(v source.Value, own map[string]source.Pos, names *names) *Iterator {
	it := &Iterator{Pos: v.Pos(), Unusable: true}
	if isShortIterator(v) {
		names.loseIterators(v)
		return it
	}
	t := v.Table(&iteratorShape)
	if !t.IsMap() {
		names.nameless = true
		return it
	}
	for _, value := range t.Unread() {
		names.lost = append(names.lost, value.Scalar())
	}
	it.In = t.Key("in").Expr()
	okIndex := true
	name, ok := readIteratorName(t.Key("name"), it, own, names)
	it.Name = name
	if index := t.Key("index"); !index.Missing() {
		it.Index, okIndex = readIteratorName(index, it, own, names)
	}
	if it.Unusable = !ok || !okIndex; it.Unusable {
		names.lost = append(names.lost, it.Name.Value, it.Index.Value)
	}
	return it
}

// isShortIterator reports whether an entry has the form name: list, and records an
// error if so.
func isShortIterator(v source.Value) bool {
	entries := v.PeekEntries()
	if v.Len() != 1 || len(entries) != 1 || !entries[0].Value.IsScalar() {
		return false
	}
	key := entries[0].Key
	if iteratorShape.Knows(key.Value) || !IsName(key.Value) {
		return false
	}
	v.ErrorAt(key.Pos, "expected name and in, got %q", key.Value).Hint = iteratorMap(key.Value, entries[0].Value.Scalar())
	return true
}

// withoutWrap returns the expression in ${...}.
func withoutWrap(text string) string {
	inner, wrapped := strings.CutPrefix(strings.TrimSpace(text), "${")
	inner, closed := strings.CutSuffix(inner, "}")
	if !wrapped || !closed {
		return text
	}
	return strings.TrimSpace(inner)
}

// readIteratorName reads a name of an iterator, and reports whether it is valid and
// unique within the forEach. settleIterators checks whether it is unique
// within the rule.
func readIteratorName(v source.Value, it *Iterator, own map[string]source.Pos, names *names) (source.String, bool) {
	name, ok := v.Literal()
	if !ok {
		names.nameless = true
		return name, false
	}
	if at, taken := own[name.Value]; taken {
		v.Errorf("%q is already used, at %s", name.Value, at)
		return name, false
	}
	if !names.declareIterator(name, v, it) {
		return name, false
	}
	own[name.Value] = name.Pos
	return name, true
}

// declareIterator records a name of an iterator, and reports whether it is valid.
func (names *names) declareIterator(name source.String, v source.Value, it *Iterator) bool {
	if why := invalidName(name.Value); why != "" {
		v.ErrorAt(name.Pos, "%q %s", name.Value, why)
		names.loseWords(name.Value)
		return false
	}
	names.iterators = append(names.iterators, iterating{v, name, it})
	return true
}

// settleIterators records an error for names of iterators that the rule also uses elsewhere.
// Children and conditions may use the same names.
func (names *names) settleIterators() {
	for _, n := range names.iterators {
		if at, taken := names.taken[n.name.Value]; taken {
			n.value.ErrorAt(n.name.Pos, "%q is already used, at %s", n.name.Value, at)
			n.iterator.Unusable = true
			names.lost = append(names.lost, n.iterator.Name.Value, n.iterator.Index.Value)
		}
	}
}

// loseIterators records the names in a value that the author may have meant as
// forEach.
func (names *names) loseIterators(v source.Value) {
	switch {
	case v.IsMap():
		for key, value := range v.PeekPairs() {
			names.lost = append(names.lost, key.Scalar(), value.Scalar())
		}
	case v.IsList():
		for _, item := range v.PeekItems() {
			if item.IsMap() {
				names.loseIterators(item)
			}
		}
	default:
		names.nameless = names.nameless || v.Broken()
	}
}

// checkCollection records an error for keys that need a collection, or a single
// object, if the child is the other.
func checkCollection(v source.Value, c *Child, t source.Table) {
	_, forEach := t.Written("forEach")
	p, replicas := t.Written("replicas")
	if forEach && replicas {
		v.ErrorAt(p, "replicas cannot be used together with forEach").Hint =
			"forEach creates an object for each element, replicas a number of objects: choose one"
		c.Replicas = nil
	}
	checkOrder(v, c, t)
	if p, written := t.Written("maxObjects"); written && !forEach && !replicas {
		v.ErrorAt(p, "maxObjects needs forEach or replicas").Hint = "a child without them has one object"
	}
	p, unavailable := t.Written("maxUnavailable")
	if !unavailable {
		return
	}
	var needs []string
	hint := "it limits how many objects are replaced at a time"
	if _, onChange := t.Written("onChange"); !onChange || c.OnChange.Value != "" && c.OnChange.Value != replace {
		needs = append(needs, "onChange: replace")
		hint += ", and onChange: replace deletes an object with the data that it holds: if it must not, remove " +
			"maxUnavailable, or write order: sequential instead"
	}
	if !forEach && !replicas {
		needs = append(needs, "forEach or replicas")
	}
	if len(needs) > 0 {
		v.ErrorAt(p, "maxUnavailable needs %s", strings.Join(needs, ", and ")).Hint = hint
		c.MaxUnavailable = nil
	}
}

// checkOrder records an error for an order of objects that have none, and for a number of
// objects to replace at a time next to it.
func checkOrder(v source.Value, c *Child, t source.Table) {
	p, order := t.Written("order")
	_, forEach := t.Written("forEach")
	switch {
	case !order:
	case !forEach:
		hint := "remove it"
		if _, replicas := t.Written("replicas"); replicas {
			hint = "objects of replicas are interchangeable: write forEach: {index: lists.range(N)} instead, with ${index} in " +
				"template.metadata.name"
		}
		v.ErrorAt(p, "order needs forEach").Hint = hint
	case c.Order.Value == sequential:
		if p, unavailable := t.Written("maxUnavailable"); unavailable {
			v.ErrorAt(p, "maxUnavailable cannot be used together with order: sequential, "+
				"which replaces one object at a time").Hint = "remove it"
		}
	}
}

var percentage = regexp.MustCompile(`^[0-9.]+ *%$`)

// readReplicas reads the number of replicas.
func readReplicas(v source.Value, most int64) *source.Expr {
	span := fmt.Sprintf("from 0 to %d", most)
	if most == usualObjects {
		span += fmt.Sprintf(", or with maxObjects to %d", MostObjects)
	}
	return readWholeNumber(v, 0, most, span)
}

// readMaxObjects reads the number of objects that a child may have. It is literal: the rules choose
// the limit, and whoever can create a resource does not.
func readMaxObjects(v source.Value) int64 {
	if v.Missing() {
		return 0
	}
	n, err := strconv.ParseInt(v.Scalar(), 10, 64)
	switch {
	case err != nil:
		v.Errorf("must be a literal number from 1 to %d, got %s", MostObjects,
			v.Describe()).Hint = "the rules choose the limit, not the resource"
		return 0
	case n < 1 || n > MostObjects:
		v.Errorf("must be from 1 to %d, got %d", MostObjects, n)
		return 0
	}
	return n
}

// readWholeNumber reads an expression for a whole number. If the number is literal, it
// must be in a range, which span names.
func readWholeNumber(v source.Value, least, most int64, span string) *source.Expr {
	e := v.Expr()
	if e == nil {
		return nil
	}
	if percentage.MatchString(e.Text) {
		v.ErrorAt(e.Pos, "expected a whole number, got a percentage")
		return nil
	}
	if n, err := strconv.ParseInt(e.Text, 0, 64); e.IsInt() && err == nil && (n < least || n > most) {
		v.ErrorAt(e.Pos, "must be %s, got %d", span, n)
		return nil
	}
	return e
}
