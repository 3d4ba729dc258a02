package check

import (
	"fmt"
	"regexp"

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
