package crossplane

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"reconcel/convert/foreign"
)

// A step of a field path is a key, an index, or every element.
type step struct {
	key      string
	index    int
	isIndex  bool
	wildcard bool
}

var errPath = errors.New("the field path is invalid")

// parsePath reads a field path such as spec.ports[0].name or metadata.labels["a/b"].
func parsePath(path string) (steps []step, err error) {
	for rest := path; rest != ""; {
		if rest[0] != '[' {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, errPath
			}
			steps = append(steps, step{key: rest[:end]})
			rest = strings.TrimPrefix(rest[end:], ".")
			continue
		}
		inner, after, closed := strings.Cut(rest[1:], "]")
		if quoted := rest[1:]; quoted != "" && (quoted[0] == '"' || quoted[0] == '\'') {
			inner, after, closed = strings.Cut(quoted[1:], quoted[:1]+"]")
			steps = append(steps, step{key: inner})
		} else if inner == "*" {
			steps = append(steps, step{wildcard: true})
		} else if i, wrong := strconv.Atoi(inner); wrong == nil && i >= 0 {
			steps = append(steps, step{index: i, isIndex: true})
		} else {
			steps = append(steps, step{key: inner})
		}
		if !closed || inner == "" {
			return nil, errPath
		}
		rest = strings.TrimPrefix(after, ".")
	}
	if len(steps) == 0 {
		return nil, errPath
	}
	return steps, nil
}

// keys returns the path as the schema of a kind has it.
func keys(steps []step) (path []string) {
	for _, s := range steps {
		if s.key == "" {
			path = append(path, foreign.Element)
		} else {
			path = append(path, s.key)
		}
	}
	return path
}

// selected returns an expression that reads a path from a value. From the step on that
// may lack, the result is an optional value.
func selected(value string, steps []step, lacks func(path []string) bool) (text string, optional bool) {
	for i, s := range steps {
		optional = optional || lacks(keys(steps[:i+1]))
		switch {
		case s.key == "" && optional:
			value += fmt.Sprintf("[?%d]", s.index)
		case s.key == "":
			value += fmt.Sprintf("[%d]", s.index)
		case optional:
			value += ".?" + foreign.Selection(s.key)[1:]
		default:
			value += foreign.Selection(s.key)
		}
	}
	return value, optional
}

// always is for values whose every field may be absent, and never for those that are waited
// for.
func always([]string) bool { return true }

func never([]string) bool { return false }
