package syntax

import (
	"slices"

	"reconcel/rules/source"
)

// readAfter reads after in all entries: ids of other entries in the same section.
func (sec *section) readAfter(others *section) {
	ids, otherIDs := sec.ids(), others.ids()
	for i, c := range sec.entries {
		if c == nil {
			continue
		}
		f := follower{own: c.ID.Value, ids: ids, others: otherIDs, named: make(map[string]bool), shape: sec.shape}
		for _, item := range sec.items[i].Peek("after").Items() {
			if after, ok := item.Literal(); ok && f.mayFollow(after, item) {
				c.After = append(c.After, after)
			}
		}
	}
}

// ids returns the ids in a section.
func (sec *section) ids() []string {
	var ids []string
	for _, item := range sec.items {
		if id := item.Peek("id").Scalar(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// A follower is an entry that waits for others.
type follower struct {
	own         string
	ids, others []string // of its own section, and of the other section
	named       map[string]bool
	shape       *source.Shape
}

// mayFollow reports whether the entry can wait for the entry with an id.
func (f *follower) mayFollow(id source.String, v source.Value) bool {
	what, elsewhere := "child", "it is created when the resource is deleted, so no child can wait for it"
	if f.shape == &finalizeShape {
		what, elsewhere = "entry of finalize", "it is a child: here, after lists ids of other entries of finalize"
	}
	switch {
	case id.Value == f.own:
		v.Errorf("%q cannot come after itself", id.Value)
	case slices.Contains(f.ids, id.Value):
		if f.named[id.Value] {
			v.Errorf("%q is listed twice", id.Value)
			return false
		}
		f.named[id.Value] = true
		return true
	case slices.Contains(f.others, id.Value):
		v.Errorf("no %s has the id %q", what, id.Value).Hint = elsewhere
	default:
		v.Errorf("no %s has the id %q", what, id.Value).Hint = source.Suggest(id.Value, f.ids)
	}
	return false
}
