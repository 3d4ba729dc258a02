package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A fieldChange is one field that differs between two states.
type fieldChange struct{ path, values string }

// changedFields returns the fields that differ, by path.
func changedFields(before, after map[string]any) []fieldChange {
	var all []fieldChange
	compareMaps(&all, "", before, after)
	return all
}

func compareMaps(to *[]fieldChange, at string, before, after map[string]any) {
	keys := slices.Collect(maps.Keys(before))
	for key := range after {
		if _, both := before[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		compareValues(to, joinKey(at, key), before, after, key)
	}
}

func compareValues(to *[]fieldChange, path string, before, after map[string]any, key string) {
	a, had := before[key]
	b, has := after[key]
	switch {
	case had && has && reflect.DeepEqual(a, b):
	case had && has:
		compareAny(to, path, a, b)
	case had:
		*to = append(*to, fieldChange{path, shown(a) + " removed"})
	default:
		*to = append(*to, fieldChange{path, shown(b) + " added"})
	}
}

func compareAny(to *[]fieldChange, path string, a, b any) {
	if x, ok := a.(map[string]any); ok {
		if y, both := b.(map[string]any); both {
			compareMaps(to, path, x, y)
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, both := b.([]any); both {
			compareLists(to, path, x, y)
			return
		}
	}
	*to = append(*to, fieldChange{path, shown(a) + " → " + shown(b)})
}

// compareLists compares lists item by item, if they have the same length or their items
// have names.
func compareLists(to *[]fieldChange, path string, a, b []any) {
	if len(a) == len(b) {
		for i := range a {
			if !reflect.DeepEqual(a[i], b[i]) {
				compareAny(to, fmt.Sprintf("%s[%d]", path, i), a[i], b[i])
			}
		}
		return
	}
	x, named := byName(a)
	y, both := byName(b)
	if named && both {
		compareMaps(to, path, x, y)
		return
	}
	*to = append(*to, fieldChange{path, fmt.Sprintf("%d → %d items", len(a), len(b))})
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

func joinKey(at, key string) string {
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
