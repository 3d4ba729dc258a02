package syntax

import "reconcel/rules/source"

// maxLets is the maximum number of lets in a rule: the type of each one grows with
// the lets that it reads.
const maxLets = 500

// readLet reads the map of named values: a string is CEL, a map or list is data.
func readLet(v source.Value, names *names) []*Let {
	if v.IsNull() {
		return nil
	}
	if !v.IsMap() {
		v.WrongShape("a map")
		names.loseNames(v)
		return nil
	}
	var lets []*Let
	for _, e := range v.Entries() {
		if len(lets) == maxLets {
			v.ErrorAt(e.Key.Pos, "more than %d named values", maxLets)
			names.nameless = true // Expressions that read the others are no mistakes of their own.
			break
		}
		if e.Key.Value == "" {
			v.ErrorAt(e.Key.Pos, "a name is empty")
			continue
		}
		let := &Let{Name: e.Key, Unusable: !names.reserveName(e.Key, v)}
		if e.Value.IsMap() || e.Value.IsList() {
			let.Data = e.Value.Data()
		} else {
			let.Expr = e.Value.Expr()
		}
		lets = append(lets, let)
	}
	return lets
}
