// Package fields says in words which fields differ between two states of an object.
package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"reconcel/engine/managedfields"
)

// A Change is one field that differs between two states.
type Change struct{ Path, Values string }

// Changed returns the fields that differ, by path.
func Changed(before, after map[string]any) []Change {
	var c changes
	c.compareMaps("", before, after)
	return c
}

type changes []Change

func (c *changes) add(path, values string) { *c = append(*c, Change{path, values}) }

func (c *changes) compareMaps(at string, before, after map[string]any) {
	keys := maps.Clone(before)
	if keys == nil {
		keys = map[string]any{}
	}
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, had := before[key]
		b, has := after[key]
		switch path := join(at, key); {
		case had && has:
			c.compare(path, a, b)
		case had:
			c.add(path, shown(a)+" removed")
		default:
			c.add(path, shown(b)+" added")
		}
	}
}

func (c *changes) compare(path string, a, b any) {
	x, isMap := a.(map[string]any)
	y, isToo := b.(map[string]any)
	m, isList := a.([]any)
	n, areBoth := b.([]any)
	switch {
	case managedfields.EqualValues(a, b):
	case isMap && isToo:
		c.compareMaps(path, x, y)
	case isList && areBoth:
		c.compareLists(path, m, n)
	default:
		c.add(path, shown(a)+" → "+shown(b))
	}
}

// compareLists compares lists item by item, if they have the same length or their items
// have names.
func (c *changes) compareLists(path string, a, b []any) {
	if len(a) == len(b) {
		for i := range a {
			c.compare(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
		}
		return
	}
	x, named := byName(a)
	y, both := byName(b)
	if named && both {
		c.compareMaps(path, x, y)
		return
	}
	c.add(path, fmt.Sprintf("%d → %d items", len(a), len(b)))
}

// byName returns the items of a list by name, and false if they have none.
func byName(list []any) (map[string]any, bool) {
	all := map[string]any{}
	for _, item := range list {
		entry, _ := item.(map[string]any)
		name, ok := entry["name"].(string)
		if _, twice := all[name]; !ok || twice {
			return nil, false
		}
		all[name] = item
	}
	return all, true
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][\w-]*$`)

func join(at, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return at + "[" + key + "]"
	case at == "":
		return key
	}
	return at + "." + key
}

// mostRunes limits the length of a value.
const mostRunes = 60

// shown returns a value in a few words.
func shown(value any) string {
	text, isText := value.(string)
	if !isText {
		data, err := json.Marshal(value)
		if err != nil {
			return "?"
		}
		text = string(data)
	}
	text = strings.ReplaceAll(text, "\n", `\n`)
	if runes := []rune(text); len(runes) > mostRunes {
		text = string(runes[:mostRunes]) + "…"
	}
	if text == "" {
		return `""`
	}
	return text
}
