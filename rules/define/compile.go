package define

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Compile compiles the definitions of one document, which may be nil. It returns all errors.
// Definitions with errors are declared all the same, so that what uses them has none.
func Compile(src *syntax.Definitions, budget *expr.Budget) (*expr.Definitions, []*source.Error) {
	if src == nil {
		return nil, nil
	}
	defined, err := expr.NewDefinitions(budget)
	if err != nil {
		return nil, []*source.Error{source.NewError(source.Pos{}, "", err.Error(), "")}
	}
	c := &compiler{src: src, defined: defined, named: map[string]*definition{}}
	for _, d := range src.All {
		c.named[d.Name.Value] = &definition{src: d}
	}
	for _, name := range src.Lost {
		if c.named[name] == nil && syntax.IsName(name) && !expr.IsType(name) && !expr.IsFunction(name) {
			defined.Lose(&expr.Definition{Name: name})
		}
	}
	for _, d := range src.All {
		c.compile(c.named[d.Name.Value])
	}
	return defined, c.errs
}

type compiler struct {
	src     *syntax.Definitions
	defined *expr.Definitions
	named   map[string]*definition
	// path are the definitions that are being compiled, outermost first.
	path []string
	errs []*source.Error
}

// A definition is one definition with the state of compiling it.
type definition struct {
	src   *syntax.Definition
	state state
}

type state int

const (
	notCompiled state = iota
	compiling
	compiled // or it has errors
)

func (c *compiler) complain(pos source.Pos, hint, format string, args ...any) {
	c.errs = append(c.errs, source.NewError(pos, "", fmt.Sprintf(format, args...), hint))
}

// compile compiles a definition after those that it uses.
func (c *compiler) compile(d *definition) {
	name := d.src.Name.Value
	if d.state != notCompiled {
		return
	}
	d.state = compiling
	c.path = append(c.path, name)
	before := len(c.errs)
	c.compileUsed(d)
	c.path = c.path[:len(c.path)-1]
	d.state = compiled
	out := &expr.Definition{Name: name, Pos: d.src.Name.Pos, Digest: d.src.Digest}
	for _, p := range d.src.Params {
		if at := c.named[p.Name]; at != nil {
			c.complain(d.src.Name.Pos, "rename one of them", "define.%s: the parameter %q is also a definition, at %s", name,
				p.Name, at.src.Name.Pos)
		}
		out.Params = append(out.Params, expr.Param{Name: p.Name, Type: p.Type})
	}
	if len(c.errs) == before {
		for _, i := range c.defined.Add(out, d.src.Expr, d.src.Data, "define."+name) {
			if i.Undeclared == "" || !c.src.Nameless {
				c.complain(i.Pos, i.Hint, "%s", i.Message)
			}
		}
	}
	if c.defined.Find(name) == nil {
		c.defined.Lose(out)
	}
}

// compileUsed compiles the definitions that d uses, up to the first that is in a cycle with d.
func (c *compiler) compileUsed(d *definition) {
	for _, src := range d.src.Expressions() {
		for _, used := range expr.Mentions(src) {
			other := c.named[used]
			if other == nil || d.hasParam(used) {
				continue
			}
			if other.state == compiling {
				c.cycle(used, src.Pos)
				return
			}
			c.compile(other)
		}
	}
}

// cycle records an error about a definition that uses itself.
func (c *compiler) cycle(name string, from source.Pos) {
	path := append(c.path[slices.Index(c.path, name):len(c.path):len(c.path)], name)
	if len(path) > maxPath {
		path = slices.Concat(path[:maxPath/2], []string{"…"}, path[len(path)-maxPath/2:])
	}
	c.complain(from, "", "define.%s: %s is a cycle", c.path[len(c.path)-1], strings.Join(path, " → "))
}

// maxPath is the maximum number of names in the message about a cycle.
const maxPath = 20

func (d *definition) hasParam(name string) bool {
	for _, p := range d.src.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}
