package infer

import "reconcel/rules/syntax"

// maxDepth is how far definitions and types are followed into each other.
const maxDepth = 20

// A scope has the values of names.
type scope struct {
	outer *scope
	names map[string]func() value
}

func (sc *scope) nested() *scope { return &scope{sc, map[string]func() value{}} }

func (sc *scope) lookup(name string) value {
	for ; sc != nil; sc = sc.outer {
		if v := sc.names[name]; v != nil {
			return v()
		}
	}
	return value{slot: &slot{}} // A mistake, which validate reports.
}

func (sc *scope) has(name string) bool {
	for ; sc != nil; sc = sc.outer {
		if sc.names[name] != nil {
			return true
		}
	}
	return false
}

// declare adds a name with a slot.
func (sc *scope) declare(name string, s *slot) {
	if name != "" {
		sc.names[name] = func() value { return value{slot: s} }
	}
}

// declareLazily adds a name whose value is inferred when it is read. While it is being
// inferred, the name is that of the outer scope: an entry of a map does not read itself.
func (sc *scope) declareLazily(name string, infer func() value) {
	var out *value
	busy := false
	sc.names[name] = func() value {
		switch {
		case out != nil:
			return *out
		case busy:
			return sc.outer.lookup(name)
		}
		busy = true
		v := infer()
		out = &v
		return v
	}
}

// A definition is a function of define, and the scope of its text.
type definition struct {
	*syntax.Definition
	scope *scope
}

// define returns the scope of the definitions beside a rule.
func (in *inference) define(src *syntax.Definitions) *scope {
	in.reading.functions = map[string]*definition{}
	sc := (*scope)(nil).nested()
	if src == nil {
		return sc
	}
	for _, d := range src.All {
		if len(d.Params) > 0 {
			in.reading.functions[d.Name.Value] = &definition{d, sc}
			continue
		}
		sc.declareLazily(d.Name.Value, func() value {
			if d.Expr != nil {
				return in.reader.expression(d.Expr, sc)
			}
			return in.reader.named(d.Data, sc)
		})
	}
	return sc
}
