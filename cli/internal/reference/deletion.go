package reference

import (
	"strings"
	"time"

	"reconcel/rules"
)

// deletion says what happens when a resource is deleted.
func (v *ruleView) deletion() (blocks []Block, sections []Section) {
	var steps []*rules.Child
	stays := false
	for _, c := range v.rule.Children {
		if c.Timeout > 0 {
			steps = append(steps, c)
		}
		stays = stays || c.OnDelete == rules.Orphan || c.Shared
	}
	switch {
	case len(v.rule.Children) == len(steps):
	case stays:
		blocks = append(blocks, paragraph("When you delete the ", v.kind, ", the objects above are deleted too, except for those that stay as their tables say."))
	default:
		blocks = append(blocks, paragraph("When you delete the ", v.kind, ", the objects above are deleted too."))
	}
	if v.rule.Ordered {
		blocks = append(blocks, paragraph("The objects are deleted one after another, in the reverse order of their creation."))
	}
	if len(steps) > 0 {
		blocks = append(blocks, paragraph("Before that, reconcel creates these objects, and waits for them. So ", article(v.kind), " that is being deleted stays visible until they are ready."))
	}
	for _, step := range steps {
		section := v.describe(step)
		rows := &section.Blocks[0].Table.Rows
		*rows = append(*rows, []Text{compose("Time limit"), compose("After " + duration(step.Timeout) + " the deletion goes on without it")})
		sections = append(sections, section)
	}
	return blocks, sections
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
