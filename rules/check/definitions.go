package check

import (
	"reconcel/rules/define"
	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Definitions are those of one document.
type definitions struct {
	all   []*expr.Definition
	scope *expr.TypedScope        // that declares them
	data  map[string]*source.Node // of values that are data
}

// definitions compiles the definitions of a document once. Loading the rules has found their
// errors.
func (c *checker) definitions(src *syntax.Definitions) *definitions {
	if d := c.defined[src]; d != nil {
		return d
	}
	defined, _ := define.Compile(src, &c.budget)
	d := &definitions{all: defined.All(), scope: c.empty.Nested(), data: map[string]*source.Node{}}
	if src != nil {
		for _, def := range src.All {
			if len(def.Params) == 0 {
				d.data[def.Name.Value] = def.Data
			}
		}
	}
	if err := d.scope.Define(defined); err != nil {
		d.scope = c.empty // Loading the rules has failed, too.
	}
	c.defined[src] = d
	return d
}

// A Definition describes a definition for editors.
type Definition struct {
	Name       string
	Signature  string // with the types of the parameters
	IsFunction bool
	Result     Type
}

// Definitions returns the definitions that the expressions of the rule can use.
func (s *Scope) Definitions() (all []Definition) {
	for _, d := range s.rule.definitions.all {
		all = append(all, Definition{d.Name, d.Signature(), d.IsFunction(), s.rule.all.typed(d.Result())})
	}
	return all
}
