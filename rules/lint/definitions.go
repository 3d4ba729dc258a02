package lint

import (
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// unusedDefinitions finds definitions that no rule beside them uses, directly or through
// other definitions. It says nothing about files with errors, which may have uses that could
// not be read.
func (l *linter) unusedDefinitions(defined *syntax.Definitions, complaints source.Errors) {
	if len(defined.All) == 0 {
		return
	}
	for _, e := range complaints {
		if e.Pos.File == defined.All[0].Name.Pos.File {
			return
		}
	}
	named := map[string]*syntax.Definition{}
	for _, d := range defined.All {
		named[d.Name.Value] = d
	}
	used := map[string]bool{}
	var use func(all []*source.Expr)
	use = func(all []*source.Expr) {
		for _, e := range all {
			for _, name := range namesIn(e) {
				if d := named[name]; d != nil && !used[name] {
					used[name] = true
					use(d.Expressions())
				}
			}
		}
	}
	use(defined.Expressions)
	for _, d := range defined.All {
		if !used[d.Name.Value] {
			e := source.NewError(d.Name.Pos, "", "define."+d.Name.Value+": no rule uses it", "remove it")
			e.Check = UnusedDefinition
			l.found = append(l.found, e)
		}
	}
}

// namesIn returns the names in an expression that are not those of fields.
func namesIn(e *source.Expr) (names []string) {
	tokens := source.Tokens([]rune(e.Text))
	for i, t := range tokens {
		isField := i > 0 && tokens[i-1].Text == "." || i > 1 && tokens[i-1].Text == "?" && tokens[i-2].Text == "."
		if t.Name && !isField {
			names = append(names, t.Text)
		}
	}
	return names
}
