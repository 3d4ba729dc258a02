package rules

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/expr"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Loaded are rules files that have been parsed and compiled once.
type Loaded struct {
	Sources []source.File
	File    *syntax.File  // everything that could be parsed
	Program *Program      // nil if there are errors
	Errors  source.Errors // every error in every file, in their order
	Unread  bool          // a file could not be read

	reused map[*syntax.Rule]bool // that Recompile did not compile again
}

// Load parses and compiles rules. Its error is a source.Errors.
func Load(sources []source.File) (*Program, error) {
	l := Compile(sources)
	return l.Program, l.Errors.Err()
}

// Compile parses and compiles rules, and keeps everything that it could parse.
// Errors about unreadable files come before errors about the sources.
func Compile(sources []source.File, unread ...*source.Error) *Loaded {
	return compile(nil, sources, unread)
}

// compile compiles all rules but those that earlier has.
func compile(earlier *earlierRules, sources []source.File, unread []*source.Error) *Loaded {
	file, err := earlier.parse(sources)
	var found source.Errors
	_ = errors.As(err, &found) // It returns no other error.
	l := loader{errs: found, broken: map[string]bool{}, said: map[source.Pos]bool{}, told: map[mistake]bool{},
		described: map[describedPart]string{}, primaries: map[schema.GroupKind]*Primary{}, writers: map[writtenPart][]int{}}
	for _, e := range found {
		l.broken[e.Rule] = true
		l.said[e.Pos] = true
	}
	for _, d := range file.Definitions {
		l.definitions(d)
	}
	p := &Program{sources: sources, documents: file.Documents}
	reused := map[*syntax.Rule]bool{}
	known := earlier.finder(file, sources)
	covered := map[*expr.Definition]bool{}
	for written := range file.Written() {
		var expressions []Expression // The kinds of a rule share most of them.
		again := known(written)
		for i, r := range written {
			var rule *Rule
			if again != nil {
				rule, reused[r] = again[i], true
			} else {
				rule = l.compiler(r).compile()
			}
			if rule != nil {
				l.add(p, rule, r)
				expressions = append(expressions, rule.expressions...)
			}
		}
		for _, def := range l.definitions(written[0].Definitions).All() {
			if !covered[def] && len(expressions) > 0 {
				covered[def] = true
				p.expressions = append(p.expressions, expressionsOf(def)...)
			}
		}
		p.expressions = append(p.expressions, inOrder(expressions)...)
	}
	loaded := &Loaded{Sources: sources, File: file, Unread: len(unread) > 0,
		Errors: source.Collect(sources, slices.Concat(unread, l.errs)), reused: reused}
	if len(loaded.Errors) == 0 {
		p.reads = p.computeReads()
		loaded.Program = p
	}
	return loaded
}

// A loader collects the rules of a program and their errors.
type loader struct {
	source.Suggester
	errs   []*source.Error
	broken map[string]bool // rules in which the parser found errors
	said   map[source.Pos]bool
	told   map[mistake]bool

	defined map[*syntax.Definitions]*expr.Definitions
	// described are the rules that have a schema of a kind, by the kind and the part of the schema.
	described map[describedPart]string
	primaries map[schema.GroupKind]*Primary
	writers   map[writtenPart][]int // the rules, by their index in those for the kind
	budget    expr.Budget           // of all definitions
}

// A mistake identifies an error. Each kind of a rule finds it again.
type mistake struct {
	pos           source.Pos
	rule, message string
}

func (l *loader) errorf(pos source.Pos, rule, format string, args ...any) *source.Error {
	e := source.NewError(pos, rule, fmt.Sprintf(format, args...), "")
	again := mistake{pos, rule, e.Message}
	if !l.said[pos] && !l.told[again] { // An error at the position of a parser error is only a consequence.
		l.told[again] = true
		l.errs = append(l.errs, e)
	}
	return e
}

// add adds a rule to the others of its kind, unless they conflict.
func (l *loader) add(p *Program, rule *Rule, src *syntax.Rule) {
	l.checkDescribed(rule, src)
	gk := rule.GVK.GroupKind()
	same := l.primaries[gk]
	if same == nil {
		same = &Primary{GVK: rule.GVK}
		p.primaries, l.primaries[gk] = append(p.primaries, same), same
	}
	if same.GVK != rule.GVK {
		l.errorf(src.For.APIVersion.Pos, rule.Name,
			"%s.apiVersion: %s is version %s in rule %q: a kind can be watched in only one version",
			src.For.Entry, rule.GVK.Kind, same.GVK.Version, same.Rules[0].Name)
		return
	}
	var sharing []int
	parts := rule.written()
	for _, part := range parts {
		sharing = append(sharing, l.writers[part]...)
	}
	slices.Sort(sharing)
	for _, i := range slices.Compact(sharing) {
		l.checkShared(rule, same.Rules[i], src)
	}
	for _, part := range parts {
		l.writers[part] = append(l.writers[part], len(same.Rules))
	}
	same.Rules = append(same.Rules, rule)
}

// A writtenPart is what only one rule for a kind may write.
type writtenPart struct {
	kind       schema.GroupKind
	part, name string
}

// written returns the fields of status and the conditions that a rule writes, and that it has a patch.
func (r *Rule) written() (parts []writtenPart) {
	add := func(part, name string) { parts = append(parts, writtenPart{r.GVK.GroupKind(), part, name}) }
	for _, key := range r.StatusKeys {
		add("status", key)
	}
	for i := range r.conditions {
		if t, literal := r.conditions[i].typ.literal(); literal {
			add("condition", t)
		}
	}
	if len(r.patched) > 0 {
		add("patch", "")
	}
	return parts
}

// checkShared records an error for fields and conditions that two rules for one kind
// write. Each field of status belongs to one rule: with two, neither could remove
// it alone.
func (l *loader) checkShared(rule, other *Rule, src *syntax.Rule) {
	taken := map[string]bool{}
	for _, key := range other.StatusKeys {
		taken[key] = true
	}
	if src.Status != nil {
		for _, f := range src.Status.Fields {
			if taken[f.Key.Value] {
				l.errorf(f.Key.Pos, rule.Name, "status.%s: rule %q already writes this field", f.Key.Value, other.Name)
			}
		}
	}
	for _, f := range rule.patched {
		if i := slices.IndexFunc(other.patched, f.overlaps); i >= 0 {
			l.errorf(f.pos, rule.Name, "%s: rule %q already patches %s", f.where, other.Name, other.patched[i].where)
		}
	}
	clear(taken)
	for i := range other.conditions {
		if t, literal := other.conditions[i].typ.literal(); literal {
			taken[t] = true
		}
	}
	for _, c := range src.Conditions {
		if t := c.Type.Literal(); taken[t.Value] {
			l.errorf(t.Pos, rule.Name, "condition %q: rule %q already writes this condition", t.Value, other.Name)
		}
	}
}

// A describedPart is a part of the schema of a kind.
type describedPart struct {
	kind schema.GroupKind
	part string
}

// checkDescribed records an error for a part of a schema that another rule for the kind has:
// neither could take precedence.
func (l *loader) checkDescribed(rule *Rule, src *syntax.Rule) {
	for _, part := range src.Schema.Parts() {
		key := describedPart{rule.GVK.GroupKind(), part}
		if other := l.described[key]; other != "" {
			l.errorf(src.Schema.Pos, rule.Name, "schema.%s: rule %q already has this part of the schema of %s", part, other,
				rule.GVK.Kind)
		} else {
			l.described[key] = rule.Name
		}
	}
}

// parseGVK joins an apiVersion and a kind.
func parseGVK(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// Recompile is Compile for the next version of rules files. A rule that has the same text at
// the same place is not compiled again, unless there are definitions beside it.
func (l *Loaded) Recompile(sources []source.File, unread ...*source.Error) *Loaded {
	if l.Program == nil {
		return Compile(sources, unread...)
	}
	earlier := earlierRules{file: l.File, sources: l.Sources, written: map[string][]*syntax.Rule{},
		rules: map[kindOfRule]*Rule{}}
	for written := range l.File.Written() {
		earlier.written[written[0].Name.Value] = written
	}
	for _, p := range l.Program.primaries {
		for _, r := range p.Rules {
			earlier.rules[kindOfRule{r.Name, r.GVK.GroupKind()}] = r
		}
	}
	return compile(&earlier, sources, unread)
}

// Changed returns the file without the rules that Recompile did not compile again.
func (l *Loaded) Changed() *syntax.File {
	changed := *l.File
	changed.Rules = slices.DeleteFunc(slices.Clone(l.File.Rules), func(r *syntax.Rule) bool { return l.reused[r] })
	return &changed
}

// earlierRules are the compiled rules of earlier files.
type earlierRules struct {
	file    *syntax.File
	sources []source.File
	written map[string][]*syntax.Rule // by name
	rules   map[kindOfRule]*Rule
}

// parse parses files, of which it shares those that have not changed.
func (c *earlierRules) parse(sources []source.File) (*syntax.File, error) {
	if c == nil {
		return syntax.Parse(sources)
	}
	return c.file.ParseAgain(sources)
}

// shares reports whether a rule is in a file that was not parsed again.
func (c *earlierRules) shares(written []*syntax.Rule) bool {
	before := c.written[written[0].Name.Value]
	return len(before) > 0 && before[0] == written[0]
}

type kindOfRule struct {
	name string
	kind schema.GroupKind
}

// finder returns a function that returns the compiled rules for what a file has at one place, or
// nil if they must be compiled.
func (c *earlierRules) finder(file *syntax.File, sources []source.File) func(written []*syntax.Rule) []*Rule {
	if c == nil {
		return func([]*syntax.Rule) []*Rule { return nil }
	}
	parsed := map[string]bool{} // the files that were parsed again
	for written := range file.Written() {
		if !c.shares(written) {
			parsed[written[0].Pos.File] = true
		}
	}
	passages, now := passagesOf(c.file, c.sources, parsed), passagesOf(file, sources, parsed)
	return func(written []*syntax.Rule) (found []*Rule) {
		before := c.written[written[0].Name.Value]
		if len(before) != len(written) || !c.shares(written) && !bytes.Equal(passages[before[0]], now[written[0]]) {
			return nil
		}
		for i, r := range written {
			was := before[i]
			if was.Pos != r.Pos || was.Origin != r.Origin || was.Digest != r.Digest ||
				was.Definitions != nil || r.Definitions != nil {
				return nil
			}
			found = append(found, c.rules[kindOfRule{was.Name.Value,
				parseGVK(was.For.APIVersion.Value, was.For.Kind.Value).GroupKind()}])
		}
		return found
	}
}

// passagesOf returns the lines of each rule in some files, until the next one begins.
func passagesOf(file *syntax.File, sources []source.File, in map[string]bool) map[*syntax.Rule][]byte {
	starts := map[string][]*syntax.Rule{}
	for written := range file.Written() {
		starts[written[0].Pos.File] = append(starts[written[0].Pos.File], written[0])
	}
	passages := map[*syntax.Rule][]byte{}
	for _, f := range sources {
		if !in[f.Name] {
			continue
		}
		lines := bytes.SplitAfter(f.Data, []byte("\n"))
		offsets := make([]int, len(lines)+1)
		for i, line := range lines {
			offsets[i+1] = offsets[i] + len(line)
		}
		rules := starts[f.Name]
		for i, r := range rules {
			end := len(f.Data)
			if i+1 < len(rules) {
				end = offsets[max(rules[i+1].Pos.Line-1, r.Pos.Line)]
			}
			passages[r] = f.Data[offsets[r.Pos.Line-1]:end]
		}
	}
	return passages
}

// HashIn returns the hash of the same rendering in other versions: the apiVersion of the object itself,
// and that of its primary in the owner reference. A version is only a way to write an object, so a
// rendering that differs in nothing else is no reason to replace the object.
func (d *Desired) HashIn(apiVersion, primary string) (hash [16]byte) {
	body := bytes.Clone(d.body)
	if start := []byte(`{"apiVersion":` + quoteJSON(d.Child.GVK.GroupVersion().String())); bytes.HasPrefix(body, start) {
		body = append([]byte(`{"apiVersion":`+quoteJSON(apiVersion)), body[len(start):]...)
	}
	// Only labels and annotations follow the owner reference. They are text, in which quotes are escaped.
	reference := `"ownerReferences":[{"apiVersion":`
	if at := bytes.LastIndex(body, []byte(reference)); at >= 0 && !d.Tracked {
		rest := bytes.TrimPrefix(body[at+len(reference):], []byte(quoteJSON(d.Child.Rule.GVK.GroupVersion().String())))
		body = append(append(body[:at+len(reference):at+len(reference)], quoteJSON(primary)...), rest...)
	}
	sum := sha256.Sum256(body)
	copy(hash[:], sum[:])
	return hash
}
