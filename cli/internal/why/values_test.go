package why

import (
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strconv"
)

// A dictionary has the values that rules may compare an input with.
type dictionary struct {
	literals []any         // of the rules
	byKey    map[any][]any // the scalars of all objects, by the last key
}

var (
	literal = regexp.MustCompile(`"([^"\\{}$]*)"`)
	number  = regexp.MustCompile(`\b[0-9]+\b`)
)

// newDictionary reads the rules, the objects and what they render to.
func (e *example) newDictionary(rules string, fields []*field) *dictionary {
	text, err := os.ReadFile(rules)
	if err != nil {
		e.Fatal(err)
	}
	d := &dictionary{byKey: map[any][]any{}}
	for _, found := range literal.FindAllSubmatch(text, -1) {
		d.literals = append(d.literals, string(found[1]))
	}
	for _, found := range number.FindAll(text, -1) {
		if n, err := strconv.ParseInt(string(found), 10, 32); err == nil {
			d.literals = append(d.literals, n)
		}
	}
	for _, o := range slices.Concat(e.resources, e.observed) {
		leaves(o.Object, nil, d.add)
	}
	for _, f := range fields {
		d.add(f.path, f.value)
	}
	return d
}

func (d *dictionary) add(path []any, value any) {
	if key := lastKey(path); !slices.Contains(d.byKey[key], value) && alternatives(value) != nil {
		d.byKey[key] = append(d.byKey[key], value)
	}
}

// lastKey returns the last key of a path, without an index in a list.
func lastKey(path []any) any {
	for _, step := range slices.Backward(path) {
		if key, isKey := step.(string); isKey {
			return key
		}
	}
	return nil
}

// values returns the values to try for an input.
func (d *dictionary) values(in input) (all []any) {
	add := func(values ...any) {
		for _, v := range values {
			if !slices.Contains(all, v) && v != in.value {
				all = append(all, v)
			}
		}
	}
	add(in.others...)
	switch v := in.value.(type) {
	case string:
		add("0s", "1000h")
		if _, err := base64.StdEncoding.DecodeString(v); err == nil {
			add(base64.StdEncoding.EncodeToString([]byte("other")))
		}
		for _, other := range slices.Concat(d.byKey[lastKey(in.path)], d.literals) {
			if _, isText := other.(string); isText {
				add(other)
			}
		}
	case int64:
		add(v+10, v+100)
		for _, other := range slices.Concat(d.byKey[lastKey(in.path)], d.literals) {
			if _, isNumber := other.(int64); isNumber {
				add(other)
			}
		}
	}
	return all
}
