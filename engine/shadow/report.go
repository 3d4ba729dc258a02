package shadow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A key identifies a line of a Report.
type key struct {
	action Action
	kind   string // with the subresource, such as Foo/status
}

// An entry counts changes that have ended.
type entry struct {
	agreed, withdrawn int
	names             []string // of the first that were agreed
}

// mostNames is how many objects a line names.
const mostNames = 5

func (e *entry) agree(of Part) {
	e.agreed++
	if name := of.object(); len(e.names) < mostNames && !slices.Contains(e.names, name) {
		e.names = append(e.names, name)
	}
}

func (l *Ledger) entry(of Part, kind string, action Action) *entry {
	k := key{action, of.shownKind(kind)}
	if l.entries[k] == nil {
		l.entries[k] = &entry{}
	}
	return l.entries[k]
}

func (p Part) shownKind(kind string) string { return strings.TrimSuffix(kind+"/"+p.Subresource, "/") }

func (p Part) object() string { return strings.TrimPrefix(p.Namespace+"/"+p.Name, "/") }

// A Report is what a shadow would have done. Its JSON is documented.
type Report struct {
	Since   time.Time `json:"since"`
	Changes []Line    `json:"changes"`
}

// A Line counts the changes of one kind with one action.
type Line struct {
	Action Action `json:"action"`
	Kind   string `json:"kind"`
	// Agreed counts changes that the other controller made.
	Agreed int `json:"agreed"`
	// Outstanding counts changes that the shadow still wants. Of them, the other controller
	// wrote something else in those of Differing.
	Outstanding int `json:"outstanding"`
	Differing   int `json:"differing"`
	// Withdrawn counts changes that the shadow wanted, and that nobody made.
	Withdrawn int `json:"withdrawn"`
	// Names are the first objects: those of outstanding changes if there are any.
	Names []string `json:"names,omitempty"`
}

// Report returns the counts, sorted by action and kind.
func (l *Ledger) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := map[key]*Line{}
	at := func(k key) *Line {
		if lines[k] == nil {
			lines[k] = &Line{Action: k.action, Kind: k.kind}
		}
		return lines[k]
	}
	open := map[key][]string{}
	for _, wishes := range l.wanted {
		for part, w := range wishes {
			k := key{w.Action, part.shownKind(w.Kind)}
			line := at(k)
			line.Outstanding++
			if !w.sighted.none() {
				line.Differing++
			}
			open[k] = append(open[k], part.object())
		}
	}
	for k, e := range l.entries {
		line := at(k)
		line.Agreed, line.Withdrawn, line.Names = e.agreed, e.withdrawn, slices.Clone(e.names)
	}
	for k, names := range open {
		slices.Sort(names)
		names = slices.Compact(names)
		at(k).Names = names[:min(len(names), mostNames)]
	}
	r := Report{Since: l.started, Changes: []Line{}}
	for _, line := range slices.SortedFunc(maps.Values(lines), func(a, b *Line) int {
		return cmp.Or(order(a.Action)-order(b.Action), cmp.Compare(a.Kind, b.Kind))
	}) {
		r.Changes = append(r.Changes, *line)
	}
	return r
}

func order(a Action) int { return slices.Index([]Action{Created, Configured, Deleted}, a) }

// Text returns the report as a table.
func (r Report) Text() string {
	if len(r.Changes) == 0 {
		return "The shadow wanted no change, and saw none.\n"
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "ACTION\tKIND\tAGREED\tOUTSTANDING\tDIFFERING\tWITHDRAWN\tOBJECTS")
	for _, line := range r.Changes {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", line.Action, line.Kind, line.Agreed, line.Outstanding, line.Differing, line.Withdrawn,
			strings.Join(line.Names, ", "))
	}
	_ = table.Flush() // A strings.Builder takes everything.
	return out.String()
}
