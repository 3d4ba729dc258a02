package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// A trail has [] for an index or a key that is known only at run time, and for the elements of a loop. While a value is
// missing, the names of these objects and the keys are what a reader looks for.

// selfName is the variable of the primary.
const selfName = "self"

// taken is a step that an attribute takes.
type taken struct {
	by   interpreter.Qualifier
	step *step
}

// named returns an unknown value whose trails name objects and keys.
func (a *attribute) named(u *types.Unknown, vars *interpreter.ExecutionFrame) *types.Unknown {
	var out *types.Unknown
	changed := false
	for _, trail := range Trails(u) {
		better := trail
		if w := workerOf(vars); strings.Contains(trail, "[]") && w != nil && w.Name() {
			better = a.nameIn(trail, vars)
		}
		changed = changed || better != trail
		out = types.MergeUnknowns(NewUnknown(better), out)
	}
	if !changed {
		return u
	}
	return out
}

func (a *attribute) nameIn(trail string, vars interpreter.Activation) string {
	last := slices.IndexFunc(a.taken, func(t taken) bool { return len(t.step.trails) == 1 && t.step.trails[0] == trail })
	if last < 0 {
		return trail // Another attribute waits, or one of several objects.
	}
	rest, text := trail, ""
	for i := last; i >= 0; i-- {
		written, shown := a.taken[i].text(vars)
		before, found := strings.CutSuffix(rest, written)
		if !found {
			return trail
		}
		rest, text = before, shown+text
	}
	if before, found := strings.CutSuffix(rest, "[]"); found {
		if name := a.objectName(vars); name != "" {
			rest = before + "[" + strconv.Quote(name) + "]"
		}
	}
	return rest + text
}

// text returns the step as it is part of a trail, and as it is shown.
func (t taken) text(vars interpreter.Activation) (written, shown string) {
	switch q := t.by.(type) {
	case interpreter.ConstantQualifier:
		written = fmt.Sprintf("[%v]", q.Value().Value())
		if name, isText := q.Value().Value().(string); isText {
			written = fieldStep(name)
		}
		return written, written
	case interpreter.Attribute:
		if t.step.shown {
			switch key, err := q.Resolve(vars); key := key.(type) {
			case string, types.String:
				if err == nil {
					return "[]", fmt.Sprintf("[%q]", key)
				}
			case int64, types.Int:
				if err == nil {
					return "[]", fmt.Sprintf("[%d]", key)
				}
			}
		}
	}
	return "[]", "[]"
}

// objectName returns the name of the object in the attribute's variable, or "".
func (a *attribute) objectName(vars interpreter.Activation) string {
	variable, ok := a.Attr().(interpreter.NamespacedAttribute)
	if !ok {
		return ""
	}
	for _, name := range variable.CandidateVariableNames() {
		if v, found := vars.ResolveName(name); found {
			if element, ok := v.(ref.Val); ok {
				v = element.Value()
			}
			object, _ := v.(map[string]any)
			metadata, _ := object["metadata"].(map[string]any)
			text, _ := metadata["name"].(string)
			return text
		}
	}
	return ""
}

// isOf reports whether a value comes from one variable alone.
func (s *Shape) isOf(variable string) bool {
	if s == nil || len(s.paths) == 0 || len(s.from) > 0 || s.elem != nil || s.fields != nil {
		return false
	}
	return !slices.ContainsFunc(s.paths, func(p path) bool { return Root(p.trail) != variable })
}
