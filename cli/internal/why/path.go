package why

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A UnknownError is a question about something that does not exist.
type UnknownError struct{ Message string }

func (e *UnknownError) Error() string { return e.Message }

// Find returns the path that a text means in an object, such as
// spec.containers[0].image, spec.containers[name=app].image or
// metadata.labels["app.kubernetes.io/name"]. Keys with dots need no quotes.
func Find(object map[string]any, text string) ([]any, error) {
	var path []any
	var value any = object
	for rest := strings.TrimPrefix(text, "."); rest != ""; {
		step, more, ok := next(value, rest)
		if !ok {
			return nil, unknownPath(value, path, rest)
		}
		path, value, rest = append(path, step), valueAt(value, []any{step}), more
	}
	return path, nil
}

// next reads one step.
func next(value any, text string) (step any, rest string, ok bool) {
	switch v := value.(type) {
	case map[string]any:
		if quoted, rest, is := bracket(text); is {
			key := strings.Trim(quoted, `"'`)
			_, has := v[key]
			return key, rest, has
		}
		longest := ""
		for key := range v {
			if after, is := strings.CutPrefix(text, key); is && len(key) > len(longest) && (after == "" || after[0] == '.' ||
				after[0] == '[') {
				longest = key
			}
		}
		return longest, strings.TrimPrefix(text[len(longest):], "."), longest != ""
	case []any:
		inside, rest, is := bracket(text)
		if !is {
			return nil, "", false
		}
		if name, want, selects := strings.Cut(inside, "="); selects {
			i := slices.IndexFunc(v, func(item any) bool {
				return fmt.Sprint(valueAt(item, []any{name})) == strings.Trim(want, `"'`)
			})
			return i, rest, i >= 0
		}
		i, err := strconv.Atoi(inside)
		return i, rest, err == nil && i >= 0 && i < len(v)
	}
	return nil, "", false
}

// bracket reads what is between brackets at the beginning of a text.
func bracket(text string) (inside, rest string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return "", "", false
	}
	end := strings.IndexByte(text, ']')
	if strings.HasPrefix(text, `["`) {
		end = strings.Index(text, `"]`) + 1
	}
	if end <= 0 {
		return "", "", false
	}
	return text[1:end], strings.TrimPrefix(text[end+1:], "."), true
}

// unknownPath says which fields are where a path ends.
func unknownPath(value any, path []any, rest string) error {
	at := "the object"
	if len(path) > 0 {
		at = shown(path)
	}
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		word := rest
		if end := strings.IndexAny(rest, ".["); end > 0 {
			word = rest[:end]
		}
		if near := source.Nearest(word, names); near != "" {
			return &UnknownError{fmt.Sprintf("%s has no field %q (did you mean %s?)", at, word,
				shown(append(slices.Clone(path), near)))}
		}
		if len(names) == 0 {
			return &UnknownError{fmt.Sprintf("%s has no field %q: it is empty", at, word)}
		}
		return &UnknownError{fmt.Sprintf("%s has no field %q: it has %s", at, word, strings.Join(names, ", "))}
	case []any:
		if len(v) == 0 {
			return &UnknownError{fmt.Sprintf("%s is an empty list", at)}
		}
		return &UnknownError{fmt.Sprintf("%s is a list of %d: write %s[0] to %s[%d]", at, len(v), at, at, len(v)-1)}
	}
	return &UnknownError{fmt.Sprintf("%s has no fields", at)}
}

// shown prints a path the way Find reads it.
func shown(path []any) string { return strings.TrimPrefix(expr.Path("", path), ".") }

// valueAt returns the value at a path, or nil.
func valueAt(value any, path []any) any {
	for _, step := range path {
		switch v := value.(type) {
		case map[string]any:
			key, _ := step.(string)
			value = v[key]
		case []any:
			i, isIndex := step.(int)
			if !isIndex || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// merged returns an object with the fields of another one that it lacks.
func merged(object, other map[string]any) map[string]any {
	if object == nil {
		return other
	}
	out := maps.Clone(object)
	for key, value := range other {
		inner, isMap := value.(map[string]any)
		own, both := out[key].(map[string]any)
		switch _, has := out[key]; {
		case isMap && both:
			out[key] = merged(own, inner)
		case !has:
			out[key] = value
		}
	}
	return out
}
