package engine

import (
	"slices"
	"strings"

	"reconcel/rules"
)

// silence notes which rules say what the API server refuses in the status: those
// whose fields it names, or all of them.
func (s *statusDraft) silence(err error) {
	s.silenced = map[*rules.Rule]bool{}
	named := causedFields(err)
	for i := range s.rendering.Rules {
		rule := s.rendering.Rules[i].Rule
		named = slices.DeleteFunc(named, func(field string) bool {
			its := slices.ContainsFunc(rule.StatusKeys, func(key string) bool { return isWithin(field, key) })
			if its {
				s.silenced[rule] = true
			}
			return its
		})
	}
	if len(s.silenced) > 0 && len(named) == 0 {
		return
	}
	for i := range s.rendering.Rules {
		s.silenced[s.rendering.Rules[i].Rule] = true
	}
}

// isWithin reports whether a field that the API server names is that field of the
// status, or within it.
func isWithin(field, key string) bool {
	rest, ok := strings.CutPrefix(field, "status."+key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// silent reports whether nothing new is said of what a rule says of the primary:
// what it said before is repeated.
func (s *statusDraft) silent(r *rules.RuleResult) bool {
	return s.frozen(r) || r.Matches && s.silenced[r.Rule]
}
