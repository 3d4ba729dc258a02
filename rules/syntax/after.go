package syntax

import "maps"

// readAfter reads after in all entries: ids of other entries in the same section.
func (sec *section) readAfter(others *section) {
	ids, otherIDs := sec.entryIDs(), others.entryIDs()
	what, elsewhere := "child", "it is created when the resource is deleted, so no child can wait for it"
	if sec.shape == &finalizeShape {
		what, elsewhere = "entry of finalize", "it is a child: here, after lists ids of other entries of finalize"
	}
	for i, c := range sec.entries {
		if c == nil {
			continue
		}
		named := make(map[string]bool)
		for _, item := range sec.items[i].Peek("after").Items() {
			after, ok := item.Literal()
			switch {
			case !ok:
			case after.Value == c.ID.Value:
				item.Errorf("%q cannot come after itself", after.Value)
			case !ids[after.Value]:
				hint := item.Reader.Suggest(after.Value, maps.Keys(ids))
				if otherIDs[after.Value] {
					hint = elsewhere
				}
				item.Errorf("no %s has the id %q", what, after.Value).Hint = hint
			case named[after.Value]:
				item.Errorf("%q is listed twice", after.Value)
			default:
				named[after.Value] = true
				c.After = append(c.After, after)
			}
		}
	}
}

// entryIDs returns the ids in a section.
func (sec *section) entryIDs() map[string]bool {
	ids := make(map[string]bool)
	for _, item := range sec.items {
		if id := item.Peek("id").Scalar(); id != "" {
			ids[id] = true
		}
	}
	return ids
}
