package syntax

import "reconcel/rules/source"

// checkShared rejects what cannot be shared. Each primary would have its own opinion of
// when the object is replaced, of its place in a list, or of its password.
func checkShared(v source.Value, t source.Table, c *Child) {
	if c.IfExists.Value != share {
		return
	}
	for _, w := range []struct {
		key, value string
		wrong      bool
		why        string
	}{
		{"replicas", "", c.Replicas != nil, "each primary has as many objects of its own as it asks for"},
		{"generate", "", c.Generate != nil, "each primary would make its own values"},
		{"order", ": " + sequential, c.Order.Value == sequential,
			"the lists of several primaries may have the object at different places"},
		{"onChange", ": " + c.OnChange.Value, !c.applies(), "primaries could not tell whether they agree about the object"},
	} {
		if pos, written := t.Written(w.key); written && w.wrong {
			v.ErrorAt(pos, "%s%s cannot be used together with ifExists: share: %s", w.key, w.value,
				w.why).Hint = "remove one of them"
		}
	}
}
