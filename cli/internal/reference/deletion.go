package reference

import (
	"strings"
	"time"

	"reconcel/rules"
)

// deleted says what happens when a resource is deleted.
func (k *kindView) deleted() []Section {
	s := Section{Title: compose("Deletion"), Level: 2}
	objects, stays, ordered := false, false, false
	var steps []Section
	for _, v := range k.rules {
		ordered = ordered || v.rule.Ordered
		for _, c := range v.rule.Children {
			if c.Timeout > 0 {
				steps = append(steps, v.step(c))
				continue
			}
			objects = true
			stays = stays || v.ending(c) != nil
		}
	}
	switch {
	case stays:
		s.Blocks = append(s.Blocks, paragraph("When you delete the ", k.gvk.Kind, ", the objects above are deleted too, except for those that stay as their tables say."))
	case objects:
		s.Blocks = append(s.Blocks, paragraph("When you delete the ", k.gvk.Kind, ", the objects above are deleted too."))
	}
	if ordered {
		s.Blocks = append(s.Blocks, paragraph("They are deleted in the reverse order: each when those that depend on it are gone."))
	}
	if len(steps) > 0 {
		s.Blocks = append(s.Blocks, paragraph("Before that, reconcel creates these objects, and waits for them. So ", article(k.gvk.Kind), " that is being deleted stays visible until they are ready."))
	}
	if len(s.Blocks) == 0 {
		return nil
	}
	return append([]Section{s}, steps...)
}

// step describes an object that is created when the resource is deleted.
func (v *ruleView) step(c *rules.Child) Section {
	s := v.describe(c)
	t := s.Blocks[0].Table
	t.Rows = append(t.Rows, []Text{compose("Time limit"), compose("After " + duration(c.Timeout) + " the deletion goes on without it")})
	return s
}

// duration prints a duration without zeros: 10m, not 10m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
