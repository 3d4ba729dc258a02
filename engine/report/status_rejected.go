package report

import (
	"slices"
	"strings"

	"reconcel/engine/outcome"
	"reconcel/rules"
)

// silence records the rules whose status the API server rejects: the rules of the
// fields in its error, or all rules if a field matches none of them.
func (s *StatusDraft) silence(err error) {
	s.silenced = map[*rules.Rule]bool{}
	named := outcome.CausedFields(err)
	for i := range s.Rendering.Rules {
		rule := s.Rendering.Rules[i].Rule
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
	for i := range s.Rendering.Rules {
		s.silenced[s.Rendering.Rules[i].Rule] = true
	}
}

// isWithin reports whether a field in an error of the API server is a status key
// or a field below it.
func isWithin(field, key string) bool {
	rest, ok := strings.CutPrefix(field, "status."+key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// silent reports whether the rule's status fields keep their last values.
func (s *StatusDraft) silent(r *rules.RuleResult) bool {
	return s.frozen(r) || r.Matches && s.silenced[r.Rule]
}
