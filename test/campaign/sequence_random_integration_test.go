//go:build integration

package campaign

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// sequenceGenerator makes random steps.
type sequenceGenerator struct {
	*rand.Rand
	spec map[string]any // after the steps so far
}

func newSequenceGenerator(seed uint64) *sequenceGenerator {
	return &sequenceGenerator{rand.New(rand.NewPCG(seed, 6)), initialSpec()}
}

// oneOf returns one of the values.
func oneOf[T any](g *sequenceGenerator, values ...T) T { return values[g.IntN(len(values))] }

// step returns the next step.
func (g *sequenceGenerator) step() sequenceStep {
	switch n := g.IntN(20); {
	case n < 6:
		return sequenceStep{Do: changes, Changes: []fieldChange{g.change()}}
	case n < 8:
		burst := sequenceStep{Do: changes}
		for range 2 + g.IntN(4) {
			burst.Changes = append(burst.Changes, g.change())
		}
		return burst
	case n < 12:
		return g.mistake()
	case n < 13:
		return sequenceStep{Do: pause, Changes: []fieldChange{g.unsaved()}}
	case n < 15:
		return g.drift()
	case n < 17:
		return sequenceStep{Do: removal, Object: oneOf(g, "config", "item-x", "copy-", "app", "secret", "frozen")}
	case n < 18:
		return sequenceStep{Do: rebirth}
	case n < 19:
		return sequenceStep{Do: adoption, Changes: g.name("shared")}
	default:
		return sequenceStep{Do: collision, Changes: g.name("held")}
	}
}

// name returns the change that lets the primary have an optional child.
func (g *sequenceGenerator) name(child string) []fieldChange {
	c := fieldChange{[]string{"spec", child}, oneOf(g, "one", "two")}
	c.apply(map[string]any{"spec": g.spec})
	return []fieldChange{c}
}

// change returns a valid change of the primary.
func (g *sequenceGenerator) change() fieldChange {
	fields := map[string]func() any{
		"value": func() any { return oneOf(g, "one", "two", "three: {}\n---", "ünïcode", "") },
		"labels": func() any {
			return oneOf(g, map[string]any{}, map[string]any{"tier": "one"}, map[string]any{"tier": "two", "example.com/x": "y"})
		},
		"items": func() any {
			items := []any{"x", "y", "z", "w"}
			g.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			return items[:g.IntN(len(items)+1)]
		},
		"copies": func() any { return int64(g.IntN(5)) },
		"app":    func() any { return g.IntN(3) > 0 },
		"size":   func() any { return int64(g.IntN(3)) },
		"image":  func() any { return oneOf(g, "busybox:1", "busybox:2") },
		"env":    func() any { return oneOf(g, []any{}, []any{"A"}, []any{"B", "A"}, []any{"C"}) },
		"token":  func() any { return oneOf(g, "t", "u", "") },
		"frozen": func() any { return oneOf(g, "f", "g") },
		"far":    func() any { return g.IntN(2) == 0 },
		"port":   func() any { return int64(80 + g.IntN(3)) },
		"mark":   func() any { return oneOf(g, "m", "n") },
		"note":   func() any { return oneOf[any](g, nil, "a", "b") },
		"shared": func() any { return oneOf[any](g, nil, "one", "two") },
		"held":   func() any { return oneOf[any](g, nil, "one", "two") },
	}
	if g.IntN(10) == 0 {
		return fieldChange{[]string{"metadata", "labels", "team"}, oneOf[any](g, nil, "red", "blue")}
	}
	field := oneOf(g, slices.Sorted(maps.Keys(fields))...)
	c := fieldChange{[]string{"spec", field}, fields[field]()}
	c.apply(map[string]any{"spec": g.spec})
	return c
}

// unsaved returns a valid change of the primary that will be undone.
func (g *sequenceGenerator) unsaved() fieldChange {
	spec := maps.Clone(g.spec)
	defer func() { g.spec = spec }()
	return g.change()
}

// mistake returns a change that makes the primary wrong in one child, and the reason that
// its condition must have. None of them has an effect on other children.
func (g *sequenceGenerator) mistake() sequenceStep {
	items, _ := g.spec["items"].([]any)
	wrong := []struct {
		field, reason string
		value         any
	}{
		{"items", "RuleError", int64(5)},
		{"items", "RuleError", []any{"x", "x"}},
		{"items", "RuleError", append(slices.Clone(items), "B_")},
		{"items", "RuleError", nil},
		{"copies", "RuleError", int64(-1)},
		{"copies", "RuleError", int64(501)},
		{"copies", "RuleError", "two"},
		{"size", "InvalidSpec", int64(9)},
		{"size", "RuleError", "many"},
		{"labels", "Rejected", map[string]any{"a b": "c"}},
		{"labels", "RuleError", "none"},
		{"far", "RuleError", "yes"},
		{"token", "RuleError", int64(5)},
		{"frozen", "Rejected", map[string]any{"a": "b"}},
		{"note", "RuleError", []any{"x"}},
	}
	if g.spec["app"] == true {
		wrong = append(wrong, struct {
			field, reason string
			value         any
		}{"tier", "Rejected", "back"})
	}
	w := oneOf(g, wrong...)
	return sequenceStep{Do: mistake, Changes: []fieldChange{{[]string{"spec", w.field}, w.value}}, Reason: w.reason}
}

// noMarks removes everything that tells a child from an object of others. A process that
// runs repairs the child, but the next process cannot know it.
var noMarks = map[string]any{"metadata": map[string]any{"labels": nil, "annotations": nil, "ownerReferences": nil}}

// drift returns a change of a child.
func (g *sequenceGenerator) drift() sequenceStep {
	s := sequenceStep{Do: drift, Object: oneOf(g, "config", "item-x", "copy-", "app", "secret", "frozen", "second")}
	s.Merge = oneOf(g,
		map[string]any{"metadata": map[string]any{"labels": nil}},
		map[string]any{"metadata": map[string]any{"annotations": nil}},
		map[string]any{"metadata": map[string]any{"ownerReferences": nil}},
		noMarks,
		map[string]any{"metadata": map[string]any{"managedFields": []any{map[string]any{}}}},
	)
	if g.IntN(2) == 0 {
		switch s.Object {
		case "app":
			s.Merge = map[string]any{"spec": map[string]any{"replicas": int64(0)}}
		case "secret":
			s.Merge = map[string]any{"data": map[string]any{"token": "ZWRpdGVk"}}
		case "config", "item-x", "copy-":
			s.Merge = map[string]any{"data": map[string]any{"value": fmt.Sprint("edited ", g.IntN(100))}}
		}
	}
	return s
}

// reload returns another version of the rules.
func (g *sequenceGenerator) reload(version int) *sequenceRules {
	return &sequenceRules{Version: version, Service: g.IntN(2) == 0, Second: g.IntN(2) == 0, Renamed: g.IntN(2) == 0, Invalid: g.IntN(5) == 0}
}
