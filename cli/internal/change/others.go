package change

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"reconcel/cli/internal/exit"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// given are the objects and files that the rules come from.
type given struct {
	objects map[string]bool // by name; that of files without names is ""
	rules   map[string]bool
}

func (s *Source) given(before *rules.Loaded) given {
	g := given{objects: map[string]bool{}, rules: map[string]bool{}}
	for _, l := range []*rules.Loaded{s.Rules, before} {
		if l == nil {
			continue
		}
		for _, d := range l.File.Documents {
			g.objects[d.Object] = true
		}
	}
	for _, r := range rulesOf([]*rules.Program{s.Rules.Program}) {
		g.rules[r.Name] = true
	}
	return g
}

// AreSingle reports whether the rules are those of single objects, beside which an installation may have others. A
// folder, and files without names, are all that an installation has.
func (s *Source) AreSingle() bool {
	isObject := func(d syntax.Document) bool { return d.Object != "" }
	return !s.Folders && slices.ContainsFunc(s.Rules.File.Documents, isObject)
}

// KeepOthers adds the running rules of other objects to those of single objects, which do not change them. running is
// nil if their text is unknown. Of other rules, it notes which objects and files they lack. before are the rules to
// compare with, or nil: those that run. KeepOthers returns the former with those of other objects.
func (s *Source) KeepOthers(running *rules.Program, before *rules.Loaded) (against *rules.Program, err error) {
	loaded, given := *s.Rules, s.given(before)
	if before != nil {
		against = before.Program
	}
	switch {
	case running == nil && before == nil && s.AreSingle():
		loaded.Program = loaded.Program.AsIncomplete()
		s.Rules = &loaded
		return nil, nil
	case running == nil, before != nil && !s.AreSingle():
		return against, nil
	}
	all := rulesOf([]*rules.Program{running})
	objects := slices.ContainsFunc(all, func(r *rules.Rule) bool { return r.Origin.Object != "" })
	isGiven := func(r *rules.Rule) bool { return given.objects[r.Origin.Object] }
	var others []*rules.Rule
	if objects && s.AreSingle() {
		others = slices.DeleteFunc(slices.Clone(all), isGiven)
	}
	if objects {
		loaded.Program = asRun(loaded.Program, others)
		s.Rules = &loaded
	}
	if objects && before != nil {
		against = asRun(against, others)
	}
	if !s.AreSingle() || !objects {
		if before == nil {
			s.noteLacking(all, given)
		}
		return against, nil
	}
	names := map[string]bool{}
	for _, r := range others {
		if given.rules[r.Name] {
			return nil, exit.Failure(fmt.Errorf("rule %q is also in %s, which runs it: remove it there, and give its file with "+
				"-f, too", r.Name, nameOf(r.Origin)))
		}
		names[nameOf(r.Origin)] = true
	}
	if len(others) > 0 {
		s.Note("not in -f, so their rules stay as they are: %s", firstOf(names))
	}
	return against, nil
}

// asRun returns a program with the rules of others, in the order in which run has them: files come first, then objects
// by name.
func asRun(p *rules.Program, others []*rules.Rule) *rules.Program {
	return p.Compose(others...).Sorted(func(a, b *rules.Rule) int { return cmp.Compare(a.Origin.Object, b.Origin.Object) })
}

// noteLacking notes which objects and files are not given with -f, if some of the running ones are.
func (s *Source) noteLacking(running []*rules.Rule, given given) {
	lacking, some := map[string]bool{}, false
	for _, r := range running {
		lacking[nameOf(r.Origin)] = true
	}
	for _, r := range running {
		if given.rules[r.Name] || given.objects[r.Origin.Object] && r.Origin.Object != "" {
			some = true
			delete(lacking, nameOf(r.Origin))
		}
	}
	if len(lacking) > 0 && some {
		s.Note("not in -f, so their rules count as removed: %s. To change single objects only, give their files with "+
			"metadata.name, and no folder", firstOf(lacking))
	}
}

// nameOf names what has a rule. A process may have found the file anywhere.
func nameOf(o syntax.Origin) string {
	if o.Object != "" {
		return "Rules/" + o.Object
	}
	return cmp.Or(filepath.Base(o.File), "the rules files")
}

// firstOf names the first ones of some.
func firstOf(names map[string]bool) string {
	const most = 5
	sorted := slices.Sorted(maps.Keys(names))
	if more := len(sorted) - most; more > 0 {
		sorted = append(sorted[:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(sorted, ", ")
}
