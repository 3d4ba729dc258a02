package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
)

// Run is what a test has made, in a form that can be compared with another run.
type Run struct {
	State  map[string][]string        // the existing objects at the end
	Births map[string]int             // creations, by masked key
	Deaths map[string]int             // deletions, by masked key
	Most   map[string]int             // the highest number of objects of a child at a time
	States map[string]map[string]bool // all states of the children, by masked key
}

// Run returns the run of the selection until now.
func (s *Selection) Run() Run {
	r := Run{State: s.State(), Births: map[string]int{}, Deaths: map[string]int{}, Most: map[string]int{},
		States: map[string]map[string]bool{}}
	all, _ := s.versionsByKey()
	var inOrder []version
	for key, versions := range all {
		masked := s.names.mask(key.String())
		r.Births[masked] += len(incarnations(versions))
		for _, v := range versions {
			if v.deleted {
				r.Deaths[masked]++
			}
			if isChild(v.object) && !v.deleted {
				if r.States[masked] == nil {
					r.States[masked] = map[string]bool{}
				}
				r.States[masked][s.canonical(v)] = true
			}
		}
		inOrder = append(inOrder, versions...)
	}
	slices.SortFunc(inOrder, func(a, b version) int { return cmp.Compare(a.order, b.order) })
	s.crowd(&r, inOrder)
	return r
}

// crowd counts the objects of each child at every moment. Objects in deletion do not
// count.
func (s *Selection) crowd(r *Run, inOrder []version) {
	now := map[string]map[string]bool{}
	for _, v := range inOrder {
		child, labelled := v.object.GetLabels()["reconcel.dev/child"]
		if !labelled {
			continue
		}
		id := s.names.mask(v.object.GetKind() + " of " + v.object.GetLabels()["reconcel.dev/rule"] + "/" + child)
		if now[id] == nil {
			now[id] = map[string]bool{}
		}
		object := v.object.GetNamespace() + "/" + v.object.GetName()
		if v.deleted || v.object.GetDeletionTimestamp() != nil {
			delete(now[id], object)
		} else {
			now[id][object] = true
		}
		r.Most[id] = max(r.Most[id], len(now[id]))
	}
}

// Join returns a reference that allows what either of two runs without faults did. It
// fails if they have different results.
func (r Run) Join(other Run) (Run, error) {
	if diff := gocmp.Diff(r.State, other.State); diff != "" {
		return r, fmt.Errorf("two runs without faults end differently (-first +second):\n%s", diff)
	}
	joined := Run{State: r.State, Births: maps.Clone(r.Births), Deaths: maps.Clone(r.Deaths), Most: maps.Clone(r.Most),
		States: maps.Clone(r.States)}
	for _, pair := range []struct{ into, from map[string]int }{{joined.Births, other.Births},
		{joined.Deaths, other.Deaths}, {joined.Most, other.Most}} {
		for key, n := range pair.from {
			pair.into[key] = max(pair.into[key], n)
		}
	}
	for key, states := range other.States {
		joined.States[key] = maps.Clone(joined.States[key])
		if joined.States[key] == nil {
			joined.States[key] = map[string]bool{}
		}
		maps.Copy(joined.States[key], states)
	}
	return joined, nil
}

// Violations returns what the run must not have done, sorted.
func (r Run) Violations(reference Run) (found []string) {
	if diff := gocmp.Diff(reference.State, r.State); diff != "" {
		found = append(found, "end state (-reference +run):\n"+diff)
	}
	counted := func(what string, want, got map[string]int) {
		for key, n := range got {
			if n > want[key] {
				found = append(found, fmt.Sprintf("%s: %s %d times, %d in the reference", key, what, n, want[key]))
			}
		}
	}
	counted("created", reference.Births, r.Births)
	counted("deleted", reference.Deaths, r.Deaths)
	counted("present at a time", reference.Most, r.Most)
	for key, states := range r.States {
		for state := range states {
			if !reference.States[key][state] {
				found = append(found, fmt.Sprintf("%s: a state that the reference never had: %s", key, state))
			}
		}
	}
	slices.SortFunc(found, strings.Compare)
	return found
}

// Untouched returns the objects of others that were changed or deleted, sorted.
func Untouched(before, after map[Key]string) (found []string) {
	for key, version := range before {
		switch now, exists := after[key]; {
		case !exists:
			found = append(found, key.String()+": an object of others was deleted")
		case now != version:
			found = append(found, fmt.Sprintf("%s: an object of others was changed from version %s to %s", key, version, now))
		}
	}
	slices.Sort(found)
	return found
}
