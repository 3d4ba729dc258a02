package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
)

// A runState is what the parts of a run share: the values that expressions read, and the
// buffer that they write to.
type runState struct {
	in      Input
	primary identity
	rule    *Rule
	result  *RuleResult
	frame   *interpreter.ExecutionFrame
	lets    []letValue
	lookups []letValue
	buf     []byte
	marks   []int
	limit   int  // on the length of buf, for the object being written
	full    bool // the primary's objects have reached their common limit
	objects int  // the number that the primary owns, over all rules
	sharing int  // of them, those of children without maxObjects
	// conditions is the number that the primary gets from forEach, and conditionBytes the
	// size of all its conditions, over all rules.
	conditions, conditionBytes int
	annotations                map[string]any // of the primary, with those that rules do not see
	work                       int            // of the rule's expressions, in values
	spent                      uint64         // by the rule's loops
	named                      int            // missing values that have the name of their object
	clock                      expr.Clock
	absent                     []absence
	primaryReads               []primaryRead
	metadata                   traits.Mapper // of the object being written, if it is an expression
	current                    *Desired      // the object whose expressions are evaluated, or nil
	element                    element       // of the condition whose expressions are evaluated
	child                      any           // the live object, in readyWhen
	// ending reports that an entry of finalize is being rendered.
	ending bool
}

// A run is the rendering of one object. Its parts find, decide and write; each uses only
// those above it. Runs are pooled.
type run struct {
	runState
	settling         settling
	evaluator        evaluator
	texts            texts
	dataValues       dataValues
	writing          writing
	liveObjects      liveObjects
	queries          queries
	spending         spending
	loops            loops
	expansion        expansion
	statusConditions statusConditions
	readiness        readiness
	variables        variables
}

// newRun connects the parts of a run.
func newRun() *run {
	r := &run{}
	s := &r.runState
	r.settling = settling{s}
	r.evaluator = evaluator{s}
	r.texts = texts{s, &r.evaluator}
	r.dataValues = dataValues{s, &r.evaluator, &r.texts}
	r.writing = writing{s, &r.settling, &r.evaluator, &r.texts, &r.dataValues}
	r.liveObjects = liveObjects{s}
	r.queries = queries{s, &r.settling, &r.texts, &r.dataValues, &r.liveObjects}
	r.spending = spending{s}
	r.loops = loops{s, &r.evaluator, &r.spending}
	r.expansion = expansion{s, &r.settling, &r.evaluator, &r.texts, &r.liveObjects, &r.loops}
	r.statusConditions = statusConditions{s, &r.settling, &r.evaluator, &r.texts, &r.loops}
	r.readiness = readiness{s, &r.settling, &r.evaluator, &r.liveObjects}
	r.variables = variables{s, &r.spending, &r.settling, &r.dataValues, &r.liveObjects, &r.queries, &r.expansion}
	return r
}

// spending counts what a rule costs, as expressions ask for it.
type spending struct{ *runState }

// variables are what expressions read, computed on the first read.
type variables struct {
	*runState
	*spending
	settling    *settling
	dataValues  *dataValues
	liveObjects *liveObjects
	queries     *queries
	expansion   *expansion
}

// An identity holds the parts of the primary's metadata that are read often.
type identity struct {
	name, namespace, uid string
	home                 string // the default namespace of its children
	deleted              bool   // or being deleted
}

// identityOf reads the identity of an object.
func identityOf(object map[string]any) identity { return identityFrom(mapAt(object, "metadata")) }

func identityFrom(metadata map[string]any) identity {
	var id identity
	id.name, _ = metadata["name"].(string)
	id.namespace, _ = metadata["namespace"].(string)
	id.uid, _ = metadata["uid"].(string)
	id.home = id.namespace
	_, id.deleted = metadata["deletionTimestamp"]
	return id
}

// A letValue is the value of a let or lookup, computed when it is first read.
type letValue struct {
	value any
	done  bool
}

// Work adds values to the rule's budget, and reports whether the budget is
// sufficient.
func (r *spending) Work(values int) bool {
	r.work += values
	return r.work <= expr.MaxWork
}

// Spend adds to the cost of the rule's loops, and returns the sum.
func (r *spending) Spend(cost uint64) uint64 {
	r.spent += cost
	return r.spent
}

// Name counts the missing values that are named.
func (r *spending) Name() bool {
	r.named++
	return r.named <= expr.MaxNamed
}

// Excluded reports whether a value will never be known, because it waits for an excluded child.
func (r *variables) Excluded(u *types.Unknown) bool { return r.settling.excluded(u) != nil }

// Parent returns nil: a rule has no outer scope.
func (r *variables) Parent() interpreter.Activation { return nil }

// ResolveName returns the variables of expressions. It computes lets, lookups and
// the objects of children when an expression first reads them.
func (r *variables) ResolveName(name string) (any, bool) {
	v, ok := r.variable(name)
	if ok && r.in.Trace != nil {
		v = r.in.Trace.follow(r.runState, name, v)
	}
	return v, ok
}

func (r *variables) variable(name string) (any, bool) {
	if name == self {
		return r.in.Self, true
	}
	if v, ok := r.rule.vars[name]; ok {
		switch v.kind {
		case letVariable:
			return r.dataValues.letValue(v.index), true
		case lookupVariable:
			return r.queries.lookupValue(v.index), true
		case previousVariable:
			return r.liveObjects.previous(&r.result.Children[v.index]), true
		case definitionVariable:
			return r.rule.defined[v.index].Value(), true
		}
		return r.childValue(v.index), true
	}
	if r.current != nil {
		if i, ok := r.current.Child.locals[name]; ok {
			return r.current.values[i], true
		}
	}
	if i, ok := r.element.locals[name]; ok {
		return r.element.values[i], true
	}
	if name == child && r.child != nil {
		return r.child, true
	}
	if name == expr.ClockVariable {
		return &r.clock, true
	}
	if call, ok := r.rule.idCalls[name]; ok {
		return r.idCallValue(call), true
	}
	return nil, false
}

// letValue returns a let. It computes the value on the first read.
func (r *dataValues) letValue(i int) any {
	v := &r.lets[i]
	if v.done {
		return v.value
	}
	l := r.rule.lets[i]
	outer, loop := r.current, r.element
	r.current, r.element = nil, element{}
	if l.prog != nil {
		out, err := r.evaluator.eval(l.prog)
		v.value = out
		if err != nil {
			v.value = types.WrapErr(err)
		}
	} else {
		v.value = r.value(l.data)
	}
	r.current, r.element = outer, loop
	if e, ok := v.value.(*types.Err); ok {
		err := asError(e, l.src.Name.Pos)
		if !strings.HasPrefix(err.Message, l.where+".") { // An entry has named itself.
			err = err.In(l.where)
		}
		v.value = types.WrapErr(err)
	}
	v.done = true
	return v.value
}

// childValue returns the live child, or an unknown if it does not exist. For a
// collection, it returns a list. A child that is being deleted is unknown to the others, which would
// be made from an object that soon has another UID, unless all of them are deleted.
func (r *variables) childValue(i int) any {
	c := &r.result.Children[i]
	r.expansion.prepareChild(c)
	if c.Child.IsCollection() {
		return r.liveObjects.collection(c)
	}
	if c.State == Excluded {
		return c.Child.gone
	}
	if len(c.Objects) == 0 || c.Objects[0].State == Excluded || c.Objects[0].Live.Object == nil {
		return c.Child.gone
	}
	if live := &c.Objects[0].Live; live.leaves() && !r.result.Teardown {
		return expr.NewIncomplete(c.Child.ID + " (being deleted)")
	}
	return r.liveObjects.object(c.Child.GVK, c.Objects[0].Live.Object)
}

// object returns an object as expressions read it: its number fields hold doubles.
func (r *liveObjects) object(gvk schema.GroupVersionKind, o map[string]any) map[string]any {
	return r.in.Numbers[gvk].Of(o)
}

// resize returns s with n elements. It reuses the memory of s if they fit.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return append(s[:cap(s)], make([]T, n-cap(s))...)
	}
	return s[:n]
}

// mergeSorted adds strings to a sorted list without duplicates.
func mergeSorted(list, more []string) []string {
	list = append(list, more...)
	slices.Sort(list)
	return slices.Compact(list)
}

// An evaluator evaluates the expressions of a rule.
type evaluator struct{ *runState }

// eval evaluates an expression of the rule. All expressions go through it.
func (r *evaluator) eval(p *expr.Program) (ref.Val, *expr.Error) {
	var outer *evaluation
	if r.in.Trace != nil {
		outer = r.in.Trace.begin(r.evaluated(p))
	}
	v, err := p.Eval(r.frame)
	if r.in.Trace != nil {
		r.in.Trace.end(outer, v, err)
	}
	if r.in.Coverage != nil && (err != nil || !types.IsUnknown(v)) {
		if r.in.Coverage.noteRun(r.rule.expressionOf(p)) {
			r.in.Coverage.noteDefinitions(p.Uses())
		}
	}
	return v, err
}

// evalPresent evaluates an expression whose value must not be absent: absent is the
// message then.
func (r *evaluator) evalPresent(p *expr.Program, absent string) (ref.Val, result) {
	v, err := r.eval(p)
	if err != nil {
		return nil, result{err: err}
	}
	v, ok := expr.Unwrap(v)
	if !ok {
		return nil, failedAt(p.Pos(), absent)
	}
	if u, ok := v.(*types.Unknown); ok {
		return nil, result{unknown: u}
	}
	return v, result{}
}

// evalBool evaluates an expression to true or false.
func (r *evaluator) evalBool(p *expr.Program) (bool, result) {
	v, res := r.evalPresent(p, "must be true or false, but the value is absent")
	yes, ok := v.(types.Bool)
	if res.ok() && !ok {
		res = failedAt(p.Pos(), "must be true or false, got "+expr.TypeOfValue(v))
	}
	return bool(yes), res
}

// wholeNumber evaluates an expression to a whole number from least to the number of objects that a child
// may have. It returns least for any other value.
func (r *evaluator) wholeNumber(p *expr.Program, least int, of *Child) (int, result) {
	v, res := r.evalPresent(p, "must be a whole number, but the value is absent")
	if !res.ok() {
		return least, res
	}
	switch n, ok := expr.Whole(v); {
	case !ok:
		return least, failedAt(p.Pos(), "must be a whole number, got "+expr.TypeOfValue(v))
	case n < types.Int(least) || n > types.Int(of.mostObjects()):
		why := fmt.Sprintf("must be at least %d and at most %d", least, of.mostObjects())
		if n > 0 {
			why += of.howToRaise()
		}
		return least, failedAt(p.Pos(), why)
	default:
		return int(n), res
	}
}

// A result is the reason why a value could not be computed. Its zero value is
// success.
type result struct {
	unknown *types.Unknown
	err     *expr.Error
}

func (res result) ok() bool { return res.unknown == nil && res.err == nil }

func failedAt(pos source.Pos, message string) result {
	return result{err: &expr.Error{Pos: pos, Message: message}}
}

// asError converts the error in a value.
func asError(v *types.Err, pos source.Pos) *expr.Error {
	var e *expr.Error
	if errors.As(v, &e) {
		return e
	}
	return &expr.Error{Pos: pos, Message: "the value failed"}
}
