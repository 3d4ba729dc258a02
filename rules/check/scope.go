package check

import (
	"maps"
	"slices"

	"reconcel/rules/expr"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// A Scope is the names that expressions of a rule read, with their types. Editors
// complete from it. It is not safe for concurrent use.
type Scope struct {
	rule  *rule
	typed *expr.TypedScope
	names map[string]bool
}

// NewScope returns the names of a rule, which may have errors.
func NewScope(src *syntax.Rule, set *schema.Set) (*Scope, error) {
	c, err := newChecker(set, nil)
	if err != nil {
		return nil, err
	}
	r := c.newRule(src)
	return &Scope{rule: r, typed: r.names, names: r.declared}, nil
}

// Names returns the names, sorted.
func (s *Scope) Names() []string { return slices.Sorted(maps.Keys(s.names)) }

// Selection returns the scope of for.when: the primary, and the lets that read nothing
// else.
func (s *Scope) Selection() *Scope {
	r := s.rule
	out := &Scope{rule: r, typed: r.definitions.scope.Nested(), names: map[string]bool{"self": true}}
	for _, def := range r.definitions.all {
		if !def.IsFunction() {
			out.names[def.Name] = true
		}
	}
	out.typed.Declare("self", r.declarations.selfType())
	for name, l := range r.lets {
		if l.t != nil && !l.wide {
			out.names[name] = true
			out.typed.Declare(name, l.t)
		}
	}
	return out
}

// Entry returns the scope of an entry of a let that is a map, which can read the others.
func (s *Scope) Entry(let, key string) *Scope {
	l := s.rule.lets[let]
	if l == nil {
		return s
	}
	out := &Scope{rule: s.rule, typed: s.typed.Nested(), names: maps.Clone(s.names)}
	for name, e := range l.entries {
		if name != key && !s.names[name] {
			out.names[name] = true
			out.typed.Declare(name, e.t)
		}
	}
	return out
}

// Child returns the type of the object of a child.
func (s *Scope) Child(src *syntax.Child) Type {
	return s.rule.all.typed(s.rule.all.kindType(s.rule.kinds.childKind(src)))
}

// With returns the scope with one more name, which hides another of the same name.
func (s *Scope) With(name string, t Type) *Scope {
	names := maps.Clone(s.names)
	names[name] = true
	typed := s.typed.Nested()
	typed.Declare(name, t.cel)
	return &Scope{rule: s.rule, typed: typed, names: names}
}

// TypeOf returns the type of an expression: any if it has errors.
func (s *Scope) TypeOf(src *source.Expr) Type {
	return s.rule.all.typed(s.rule.expressions.infer(src, s.typed, "").t)
}

// Check returns what is wrong with the types in an expression.
func (s *Scope) Check(src *source.Expr) []*source.Error {
	before := len(s.rule.ledger.found.Errors)
	s.rule.expressions.infer(src, s.typed, "expression")
	return s.rule.ledger.found.Errors[before:]
}
