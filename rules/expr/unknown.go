package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// A step is one selection or index of an expression: `.field`, `[key]`, `.?field`.
type step struct {
	id     int64
	key    string   // if it is constant
	test   bool     // inside has()
	trails []string // the paths to which it leads and that may not exist yet
	// rooted: the step starts at a path in a live object. A step into a literal or a
	// computed list that is unknown as a whole cannot tell what is missing: that
	// may not be what it selects.
	rooted bool
	// shown: the key, which is known only at run time, may be part of a message. It comes from the primary alone, so it
	// is not the value of a Secret.
	shown bool
	// unknown is the value if nothing exists at the path. It is nil if something
	// always does.
	unknown *types.Unknown
}

// unknownIDs makes the ids of unknowns unique. CEL merges unknowns by id, also those
// of different expressions.
var unknownIDs atomic.Int64

// NewUnknown returns the unknown value that waits for a trail.
func NewUnknown(trail string) *types.Unknown {
	return types.NewUnknown(unknownIDs.Add(1), types.NewAttributeTrail(trail))
}

// incompleteID is in the unknown values of lists that are not complete. Other ids are above 0.
const incompleteID = 0

var incomplete = types.NewUnknown(incompleteID, nil)

// NewIncomplete returns the unknown value of a list of which some elements do not
// exist yet. Every step from it is unknown too, also .? and has(): the missing
// elements may have what they look for.
func NewIncomplete(trail string) *types.Unknown {
	return types.MergeUnknowns(NewUnknown(trail), incomplete)
}

// isIncomplete reports whether an unknown value comes from an incomplete list.
func isIncomplete(u *types.Unknown) bool {
	_, is := u.GetAttributeTrails(incompleteID)
	return is
}

// Trails returns the trails of an unknown value, sorted and without duplicates.
func Trails(u *types.Unknown) []string {
	var out []string
	for _, id := range u.IDs() {
		if id == incompleteID {
			continue // It has no trail.
		}
		trails, _ := u.GetAttributeTrails(id)
		for _, t := range trails {
			out = append(out, t.Variable())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prepare allocates the step's unknown once for all evaluations.
func (s *step) prepare() {
	for _, t := range s.trails {
		s.unknown = types.MergeUnknowns(NewUnknown(t), s.unknown)
	}
}

// prepare prepares all steps.
func (a *analyzer) prepare() {
	for _, s := range a.steps {
		s.prepare()
	}
}

// decorate returns a decorator for the plan of one expression. It wraps the steps
// around the qualifiers, sorts loops, guards calls, explains those that fail, and charges a meter.
//
// The planner offers an attribute several times while it grows, each time inside the
// wrappers that it got before. So an attribute is recognised by its innermost value.
func decorate(a *analyzer, env *environment, m *meter) interpreter.InterpretableDecoratorV2 {
	seen, planned := map[interpreter.Attribute]bool{}, map[int64]interpreter.InterpretableV2{}
	return func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		known := false
		switch n := i.(type) {
		case interpreter.InterpretableAttribute:
			known = seen[n.Attr()]
			if !known {
				seen[n.Attr()] = true
				i = &attribute{InterpretableAttribute: n, steps: a.steps, meter: m, cost: selectionCost}
			}
		case interpreter.InterpretableCall:
			if call, ok := a.idCalls[n.ID()]; ok {
				i = &idCallValue{n, call.function, call.function.Variable(call.id)}
				break
			}
			guarded, err := env.guard(n, a.scope, m)
			if err != nil {
				return nil, &nodeError{n.ID(), err}
			}
			i = guarded
		}
		i = a.logicOf(a.mismatch(env, m.wrap(i)), planned)
		if chained, ok := a.ranges[i.ID()]; ok && chained == known {
			i = &sortedRange{i}
		}
		if a.logic[i.ID()] {
			planned[i.ID()] = i
		}
		return i, nil
	}
}

// An attribute is a chain that wraps each step that is added.
type attribute struct {
	interpreter.InterpretableAttribute
	steps map[int64]*step
	taken []taken
	named bool // a trail of a step has [], for which names are known at run time
	meter *meter
	cost  uint64
}

func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	a.meter.spend(frame, a.cost)
	v := a.InterpretableAttribute.Exec(frame)
	if u, waits := v.(*types.Unknown); waits && a.named && !isIncomplete(u) {
		return a.name(u, frame)
	}
	return v
}

// Eval is Exec for callers of CEL's older interface.
func (a *attribute) Eval(vars interpreter.Activation) ref.Val {
	return a.Exec(interpreter.AsFrame(vars))
}

// AddQualifier appends a step. CEL looks for constant qualifiers, so that the wrapper
// of one must be one as well.
func (a *attribute) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	a.cost += selectionCost
	s := a.steps[q.ID()]
	if s == nil {
		return a.InterpretableAttribute.AddQualifier(q)
	}
	a.taken = append(a.taken, taken{q, s})
	a.named = a.named || slices.ContainsFunc(s.trails, hasPlaces)
	wrapped := &qualifier{q, s}
	if c, ok := q.(interpreter.ConstantQualifier); ok {
		return a.InterpretableAttribute.AddQualifier(&constantQualifier{wrapped, c.Value()})
	}
	return a.InterpretableAttribute.AddQualifier(wrapped)
}

type qualifier struct {
	interpreter.Qualifier
	step *step
}

func (q *qualifier) Qualify(vars interpreter.Activation, obj any) (any, error) {
	return q.step.qualify(q.Qualifier, vars, obj)
}

func (q *qualifier) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	return q.step.ifPresent(q.Qualifier, vars, obj, presenceOnly)
}

type constantQualifier struct {
	*qualifier
	value ref.Val
}

func (q *constantQualifier) Value() ref.Val { return q.value }

// field returns the field of an object as CEL's qualifier does, without its search for the type of the
// object.
func (s *step) field(obj any) (v any, ok bool) {
	o, isObject := obj.(map[string]any)
	if !isObject || s.key == "" {
		return nil, false
	}
	v, ok = o[s.key]
	return v, ok
}

// qualify evaluates `.field` and has(.field).
func (s *step) qualify(q interpreter.Qualifier, vars interpreter.Activation, obj any) (any, error) {
	if v, ok := s.field(obj); ok && !s.test {
		return v, nil
	}
	u, gone := obj.(*types.Unknown)
	whole := s.unknown == nil || gone && (!s.rooted || isIncomplete(u))
	switch {
	case s.test && gone && !whole:
		return false, nil
	case s.test:
		return s.has(q, vars, obj)
	case whole:
		v, err := q.Qualify(vars, obj)
		return v, s.locate(err)
	case gone:
		return s.unknown, nil
	}
	v, ok, err := q.QualifyIfPresent(vars, obj, false)
	if err != nil {
		return nil, s.locate(err)
	}
	if ok {
		return v, nil
	}
	if !holdsFields(obj) {
		// A number never gets fields: let CEL fail.
		v, err := q.Qualify(vars, obj)
		return v, s.locate(err)
	}
	return s.unknown, nil
}

// has evaluates has(.field). Null is no value: the API server keeps it where a field may be null
// or is unknown, and writes it for an empty list of its own kinds.
func (s *step) has(q interpreter.Qualifier, vars interpreter.Activation, obj any) (any, error) {
	v, present, err := q.QualifyIfPresent(vars, obj, true)
	if err != nil {
		return nil, s.locate(err)
	}
	if u, unknown := v.(*types.Unknown); unknown {
		return u, nil
	}
	return present && !isNull(v), nil
}

// ifPresent evaluates `.?field`. As for has(), null is no value.
func (s *step) ifPresent(q interpreter.Qualifier, vars interpreter.Activation, obj any,
	presenceOnly bool) (any, bool, error) {
	if u, gone := obj.(*types.Unknown); gone && s.rooted && !isIncomplete(u) {
		return nil, false, nil
	}
	v, ok, err := q.QualifyIfPresent(vars, obj, presenceOnly)
	if ok && isNull(v) {
		return nil, false, s.locate(err)
	}
	return v, ok, s.locate(err)
}

func isNull(v any) bool { return v == nil || v == types.NullValue }

// locate records the step at which an error happened. CEL would record the last one
// of the chain.
func (s *step) locate(err error) error {
	if err == nil {
		return nil
	}
	return types.LabelErrNode(s.id, types.WrapErr(err)).(*types.Err)
}

// holdsFields reports whether a value could get the missing field.
func holdsFields(obj any) bool {
	switch obj.(type) {
	case map[string]any, []any, nil, types.Null, traits.Mapper, traits.Lister:
		return true
	}
	return false
}

// A trail has [] for an index or a key that is known only at run time, and for the elements of a loop. While a value is
// missing, the names of these objects and the keys are what a reader looks for.

// selfName is the variable of the primary.
const selfName = "self"

// taken is a step that an attribute takes.
type taken struct {
	by   interpreter.Qualifier
	step *step
}

// hasPlaces reports whether a trail leads through an index or a key that is known only at run time.
func hasPlaces(trail string) bool { return strings.Contains(trail, "[]") }

// name returns an unknown value whose trails name objects and keys.
func (a *attribute) name(u *types.Unknown, vars *interpreter.ExecutionFrame) *types.Unknown {
	var out *types.Unknown
	changed := false
	for _, trail := range Trails(u) {
		better := trail
		if w := workerOf(vars); hasPlaces(trail) && w != nil && w.Name() {
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
