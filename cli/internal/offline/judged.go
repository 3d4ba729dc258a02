package offline

import (
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A Judged is a set of rules with its result and the kinds behind it.
type Judged struct {
	*rules.Loaded
	Kinds  Kinds
	Result judge.Result
	Passed source.Errors // notes about files and documents without rules
}

// Judge loads and judges rules with their CRDs, or else those in the folders of the rules.
// Rejected rules are not an error: see the result. After errors in CRDs, the result goes by
// the others.
func Judge(from files.Reader, paths, crds []string, policy judge.Policy) (j Judged, err error) {
	j.Loaded, j.Passed = Load(from, paths)
	if len(crds) == 0 {
		crds = from.Definitions(paths)
	}
	j.Kinds, err = ReadKinds(from, crds)
	j.Result = judge.Of(j.Loaded, j.Kinds.Set, policy)
	return j, err
}

// Load loads rules, and returns notes about what it passed over.
func Load(from files.Reader, paths []string) (loaded *rules.Loaded, notes source.Errors) {
	sources, passed, unread := from.Select(paths)
	for _, name := range passed {
		notes = append(notes, source.NewError(source.Pos{File: name}, "", "has no rules, passed over", ""))
	}
	loaded = rules.Compile(sources, unread...)
	return loaded, append(notes, loaded.File.PassedOver...).WithSeverity(source.SeverityNote)
}
