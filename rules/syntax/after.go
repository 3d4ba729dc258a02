package syntax

import (
	"slices"
)

// follow reads after of all entries: the ids of others of the same section.
func (sec *section) follow(others *section) {
	ids, otherIDs := sec.ids(), others.ids()
	for i, c := range sec.entries {
		if c == nil {
			continue
		}
		s := sec.scope.index(i).named(childID(sec.items[i])).key("after")
		f := follower{own: c.ID.Value, ids: ids, others: otherIDs, before: make(map[string]bool), shape: sec.shape}
		for j, item := range s.list(valueAt(sec.items[i], "after")) {
			if after, ok := s.index(j).literal(item); ok && s.index(j).isFollowed(after, &f) {
				c.After = append(c.After, after)
			}
		}
	}
}

// ids returns the ids in a section.
func (sec *section) ids() []string {
	var ids []string
	for _, item := range sec.items {
		if id := childID(item); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// A follower is an entry that comes after others.
type follower struct {
	own         string
	ids, others []string // of its section, and of the other one
	before      map[string]bool
	shape       *shape
}

// isFollowed tells whether an entry can come after the one that has an id.
func (s scope) isFollowed(id String, f *follower) bool {
	what, elsewhere := "child", "it is made when the resource is deleted: no child can wait for it"
	if f.shape == &finalizeShape {
		what, elsewhere = "entry of finalize", "it is a child: after names others of finalize here"
	}
	switch {
	case id.Value == f.own:
		s.errorf(id.Pos, "%q cannot come after itself", id.Value)
	case slices.Contains(f.ids, id.Value):
		if f.before[id.Value] {
			s.errorf(id.Pos, "%q is named twice", id.Value)
			return false
		}
		f.before[id.Value] = true
		return true
	case slices.Contains(f.others, id.Value):
		s.errorf(id.Pos, "no %s has the id %q", what, id.Value).Hint = elsewhere
	default:
		s.errorf(id.Pos, "no %s has the id %q", what, id.Value).Hint = suggest(id.Value, f.ids)
	}
	return false
}
