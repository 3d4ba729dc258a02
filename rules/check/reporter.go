package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A reporter adds what is found in a rule.
type reporter struct{ *subject }

// typeNames matches the names of our types in CEL's messages.
var typeNames = regexp.MustCompile(regexp.QuoteMeta(mark) + `[^,)' ]*`)

func (r *reporter) complaint(pos source.Pos, format string, args ...any) *source.Error {
	message := typeNames.ReplaceAllString(fmt.Sprintf(format, args...), "object")
	return source.NewError(pos, r.src.Name.Value, r.prefix+message, "")
}

// errorf adds an error. One that several paths find is added once.
func (r *reporter) errorf(pos source.Pos, format string, args ...any) *source.Error {
	e := r.complaint(pos, format, args...)
	return r.ledger.say(&r.ledger.found.Errors, e)
}

// warnf adds a warning of a named check.
func (r *reporter) warnf(check string, pos source.Pos, format string, args ...any) *source.Error {
	e := r.complaint(pos, format, args...)
	e.Check = check
	return r.ledger.say(&r.ledger.found.Warnings, e)
}

// A finding identifies what was found.
type finding struct {
	pos     source.Pos
	message string
}

// A ledger is what a checker has found and must not say again.
type ledger struct {
	found         Found
	said          map[finding]bool
	noted         map[runtimeschema.GroupVersionKind]bool // kinds without a schema
	speclessKinds map[runtimeschema.GroupVersionKind]bool // that were warned about
	broken        map[source.Pos]bool                     // where loading the rules found errors
}

func newLedger(broken map[source.Pos]bool) ledger {
	return ledger{
		found: Found{ExcludedWith: map[*syntax.Child][]string{}}, said: map[finding]bool{}, broken: broken,
		noted: map[runtimeschema.GroupVersionKind]bool{}, speclessKinds: map[runtimeschema.GroupVersionKind]bool{},
	}
}

// say adds what was found, once, and not where loading has found something.
func (l *ledger) say(to *[]*source.Error, e *source.Error) *source.Error {
	key := finding{e.Pos, e.Message}
	if !l.said[key] && !l.broken[e.Pos] {
		l.said[key] = true
		*to = append(*to, e)
	}
	return e
}

// A damage is the positions of the complaints about a rule, in the order of inFiles.
type damage []source.Pos

func inFiles(a, b source.Pos) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// in returns the first complaint in an expression and the one after the last.
func (d damage) in(src *source.Expr) (from, to int) {
	from, _ = slices.BinarySearchFunc(d, src.Pos, inFiles)
	for to = from; to < len(d) && src.Holds(d[to]); to++ {
	}
	return from, to
}

// touches reports whether loading the rules found an error in an expression.
func (d damage) touches(src *source.Expr) bool {
	from, to := d.in(src)
	return from < to
}

// Integrity says which expressions loading has not damaged.
type integrity struct {
	*subject
	expressions *expressions
	follower    *follower

	intact map[*source.Expr]bool // what isIntact has found
}

// unguarded reports whether the guards of the fields that the rule reads cannot be
// known: a guard is damaged, or something outside of expressions is, like a
// misspelt key that may hold a guard. Warnings about absent fields could be wrong.
func (r *integrity) unguarded() bool {
	inside := map[int]bool{}
	for src := range r.typed {
		for from, to := r.damage.in(src); from < to; from++ {
			inside[from] = true
		}
	}
	return len(inside) < len(r.damage) || !r.isIntact(r.src.For.When) ||
		slices.ContainsFunc(r.src.Validate, func(c *syntax.Check) bool { return !r.isIntact(c.Expression) })
}

// isIntact reports whether an expression and the lets that it mentions have types.
func (r *integrity) isIntact(e *source.Expr) bool {
	if e == nil {
		return true
	}
	intact, known := r.intact[e]
	if known {
		return intact
	}
	r.intact[e] = true // Lets cannot form a cycle. This is a second line of defence.
	t := r.expressions.checked(e)
	r.intact[e] = t != nil && !slices.ContainsFunc(r.follower.mentioned(t.ast),
		func(e *source.Expr) bool { return !r.isIntact(e) })
	return r.intact[e]
}
