package ruletest

import "slices"

// Ruled returns the fields of an object that the controller has set.
var Ruled = ruled

// Portable returns the suite without the features of an in-memory cluster. It drops cases
// in which time passes, something fails or the controller restarts. It drops expectations
// about writes, Events and Kubernetes' own defaults (snapshots).
func (s *Suite) Portable() *Suite {
	portable := *s.file
	portable.Cases = nil
	for _, c := range s.file.Cases {
		if slices.ContainsFunc(c.Steps, func(s Step) bool { return slices.ContainsFunc(s.When, needsMemory) }) {
			continue
		}
		copied := *c
		copied.Steps = slices.Clone(c.Steps)
		for i := range copied.Steps {
			copied.Steps[i].Then = slices.DeleteFunc(slices.Clone(copied.Steps[i].Then), func(e Expectation) bool {
				switch e.(type) {
				case events, writes, snapshot:
					return true
				}
				return false
			})
		}
		portable.Cases = append(portable.Cases, &copied)
	}
	return &Suite{&portable, s.setting}
}

func needsMemory(a Action) bool {
	switch a.(type) {
	case advance, fail, restart:
		return true
	}
	return false
}

// Names returns the names of the cases.
func (s *Suite) Names() (names []string) {
	for _, c := range s.file.Cases {
		names = append(names, c.Name)
	}
	return names
}
