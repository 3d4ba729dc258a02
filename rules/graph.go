package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/projection"
)

// A Graph is the parts of a rule, and what each of them reads of others. It has no cycles,
// unless one edge of each cycle is Previous alone.
type Graph struct {
	Parts []Part // the primary, then lookups, children in their order, and what is written into the primary
	Edges []Edge // by reader, then by what it reads
}

// A PartKind says what a Part is.
type PartKind string

// The kinds of parts, in the order of a Graph.
const (
	PrimaryPart   PartKind = "primary"
	LookupPart    PartKind = "lookup"
	ValidatePart  PartKind = "validate"
	ChildPart     PartKind = "child"
	FinalizePart  PartKind = "finalize"
	PatchPart     PartKind = "patch"
	StatusPart    PartKind = "status"
	ConditionPart PartKind = "condition"
)

// A Part is something in a rule that reads, or is read.
type Part struct {
	Kind   PartKind
	ID     string                  // of a lookup, child or entry of finalize; the type of a condition
	Object schema.GroupVersionKind // of the primary, lookups and children
	Many   bool                    // any number of objects
	// When, ReadyWhen and FailWhen are expressions as they are written, or "".
	When, ReadyWhen, FailWhen string
	Fields                    []string // top-level fields of the status
}

// An Edge says what one part needs of another one.
type Edge struct {
	Reader, Read int      // indexes of Graph.Parts
	Fields       []string // what is read, such as status.replicas, sorted; of very many, some are left out
	When         bool     // the reader's when, or for.when of the rule, reads it
	Ready        bool     // the reader's readyWhen or failWhen reads it
	Waits        bool     // the reader is not applied before the other one is ready
	Previous     bool     // the reader reads what the other one was before this reconciliation
	Owns         bool     // from the primary to a child
}

// Graph returns the graph of the rule. It follows lets and definitions, which are not parts.
func (r *Rule) Graph() Graph {
	g := &grapher{rule: r, first: map[PartKind]int{}, edges: map[[2]int]*Edge{}, lets: map[int]*uses{}}
	g.addParts()
	t := &ruleTracer{rule: r, self: &projection.Builder{}, lets: map[int]*expr.Origin{}, graph: g}
	for range r.Children {
		t.children = append(t.children, &projection.Builder{})
	}
	for range r.Lookups {
		t.lookups = append(t.lookups, &projection.Builder{})
	}
	t.trace()
	g.end()
	children := g.first[ChildPart]
	for i, c := range r.Children {
		g.edge(children+i, 0).Owns = true
		for _, j := range c.gates {
			g.edge(children+i, children+j).Waits = true
		}
	}
	return g.graph()
}

// A grapher records which parts read which others, while a ruleTracer traces them. A nil
// grapher records nothing.
type grapher struct {
	rule   *Rule
	parts  []Part
	first  map[PartKind]int // the index of the first part of each kind
	edges  map[[2]int]*Edge
	lets   map[int]*uses
	reader int   // the part that is traced
	role   Edge  // in which it reads
	uses   *uses // what it has read so far
}

// uses are the variables that expressions mention, and the paths that they depend on.
type uses struct{ names, paths map[string]bool }

func newUses() *uses { return &uses{map[string]bool{}, map[string]bool{}} }

func (g *grapher) addParts() {
	r := g.rule
	add := func(p Part) { g.parts = append(g.parts, p) }
	begin := func(kind PartKind) { g.first[kind] = len(g.parts) }
	begin(PrimaryPart)
	add(Part{Kind: PrimaryPart, Object: r.GVK, When: textOf(r.when)})
	begin(LookupPart)
	for _, l := range r.Lookups {
		add(Part{Kind: LookupPart, ID: l.ID, Object: l.GVK, Many: !l.One()})
	}
	begin(ValidatePart)
	add(Part{Kind: ValidatePart})
	begin(ChildPart)
	for _, c := range r.Children {
		p := Part{Kind: ChildPart, ID: c.ID, Object: c.GVK, Many: c.IsCollection(), When: textOf(c.when),
			ReadyWhen: textOf(c.readyWhen), FailWhen: textOf(c.failWhen)}
		if c.Timeout > 0 {
			p.Kind = FinalizePart
		}
		add(p)
	}
	begin(PatchPart)
	add(Part{Kind: PatchPart})
	begin(StatusPart)
	add(Part{Kind: StatusPart, Fields: r.StatusKeys})
	begin(ConditionPart)
	for _, k := range r.conditions {
		add(Part{Kind: ConditionPart, ID: k.typ.String(), Many: len(k.iterators) > 0, When: textOf(k.when)})
	}
}

func textOf(p *expr.Program) string {
	if p == nil {
		return ""
	}
	return p.Text()
}

// begin starts to record what a part reads in a role.
func (g *grapher) begin(part int, role Edge) {
	g.end()
	g.reader, g.role, g.uses = part, role, newUses()
}

// end turns what the last part has read into edges.
func (g *grapher) end() {
	if g.uses == nil {
		return
	}
	for name := range g.uses.names {
		if to, previous, ok := g.partOf(name); ok && to != g.reader {
			e := g.edge(g.reader, to)
			e.When, e.Ready = e.When || g.role.When, e.Ready || g.role.Ready
			e.Previous = e.Previous || previous
			e.Fields = append(e.Fields, fieldsOf(name, g.uses.paths)...)
		}
	}
	g.uses = nil
}

// fieldsOf returns the paths of a variable without its name. The elements of a list count as
// the list.
func fieldsOf(name string, paths map[string]bool) (fields []string) {
	for path := range paths {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(path, "[]"), name)
		if ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "[")) {
			fields = append(fields, strings.TrimPrefix(strings.TrimPrefix(rest, "[]"), "."))
		}
	}
	return fields
}

// partOf returns the part that a variable stands for.
func (g *grapher) partOf(name string) (part int, previous, ok bool) {
	if name == self {
		return g.first[PrimaryPart], false, true
	}
	switch v, known := g.rule.vars[name]; {
	case !known:
		return 0, false, false
	case v.kind == lookupVariable:
		return g.first[LookupPart] + v.index, false, true
	case v.kind == childVariable, v.kind == previousVariable:
		return g.first[ChildPart] + v.index, v.kind == previousVariable, true
	}
	return 0, false, false
}

func (g *grapher) edge(reader, read int) *Edge {
	key := [2]int{reader, read}
	if g.edges[key] == nil {
		g.edges[key] = &Edge{Reader: reader, Read: read}
	}
	return g.edges[key]
}

// mention records a variable.
func (g *grapher) mention(name string) {
	if g != nil && g.uses != nil {
		g.uses.names[name] = true
	}
}

// depend records the paths that the result of an expression depends on.
func (g *grapher) depend(p *expr.Program) {
	if g == nil || g.uses == nil {
		return
	}
	for _, path := range p.Paths() {
		g.uses.paths[path] = true
	}
}

// enterLet starts to record what a let reads, which is traced only once. It returns what
// leaveLet takes.
func (g *grapher) enterLet(i int) (outer *uses) {
	if g == nil {
		return nil
	}
	outer = g.uses
	g.lets[i] = newUses()
	g.uses = g.lets[i]
	return outer
}

func (g *grapher) leaveLet(i int, outer *uses) {
	if g != nil {
		g.uses = outer
		g.readLet(i)
	}
}

// readLet records that a let is read. The paths are those of the expression that reads it,
// which may depend on a part of the let.
func (g *grapher) readLet(i int) {
	if g != nil && g.uses != nil {
		maps.Copy(g.uses.names, g.lets[i].names)
	}
}

// writeLet records that a let is written out: all of it counts.
func (g *grapher) writeLet(i int) {
	if g != nil && g.uses != nil {
		maps.Copy(g.uses.paths, g.lets[i].paths)
	}
}

// graph returns the parts that exist: patch and status are optional, and checks that read
// the primary alone are not worth a part.
func (g *grapher) graph() (out Graph) {
	checks := false
	for key := range g.edges {
		checks = checks || key[0] == g.first[ValidatePart] && key[1] != g.first[PrimaryPart]
	}
	index := make([]int, len(g.parts))
	for i, p := range g.parts {
		if p.Kind == ValidatePart && !checks || p.Kind == PatchPart && g.rule.patch == nil ||
			p.Kind == StatusPart && g.rule.status == nil {
			index[i] = -1
			continue
		}
		index[i] = len(out.Parts)
		out.Parts = append(out.Parts, p)
	}
	for _, e := range g.edges {
		if e.Reader, e.Read = index[e.Reader], index[e.Read]; e.Reader < 0 || e.Read < 0 {
			continue
		}
		slices.Sort(e.Fields)
		e.Fields = slices.Compact(e.Fields)
		out.Edges = append(out.Edges, *e)
	}
	slices.SortFunc(out.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Reader, b.Reader),
			cmp.Compare(a.Read, b.Read))
	})
	return out
}
