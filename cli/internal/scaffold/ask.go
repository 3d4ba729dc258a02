package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/rules/syntax"
)

// ask asks about each field.
func (set *fieldSet) ask() error {
	if set.app.Ask == nil {
		return nil
	}
	for _, f := range set.all {
		for problem, asked := "", false; !asked || problem != ""; asked = true {
			answer, err := set.app.Ask(f, problem)
			if err != nil {
				return err
			}
			problem = set.answer(f, answer)
		}
	}
	set.all = slices.DeleteFunc(set.all, func(f *Field) bool { return f.constant })
	return nil
}

// answer changes a field, or returns what is wrong with the answer.
func (set *fieldSet) answer(f *Field, answer string) (problem string) {
	switch answer {
	case "":
		return ""
	case "-":
		f.constant = true
		return ""
	}
	path := strings.Split(strings.TrimPrefix(answer, "spec."), ".")
	for _, name := range path {
		if !syntax.IsName(name) {
			return fmt.Sprintf("%q is not the name of a field: write letters and digits, with dots between fields", answer)
		}
	}
	for _, other := range set.all {
		if other != f && !other.constant && (beginsWith(other.Path, path) || beginsWith(path, other.Path)) {
			return fmt.Sprintf("%s is there already", other.Name())
		}
	}
	f.Path = path
	return ""
}
