package rules

import (
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
}

// Load parses and compiles rules. Its error is a source.Errors.
func Load(sources []source.File) (*Program, error) {
	l := Compile(sources)
	return l.Program, l.Errors.Err()
}

// Compile parses and compiles rules, and keeps everything that it could parse.
// Errors about unreadable files come before errors about the sources.
func Compile(sources []source.File, unread ...*source.Error) *Loaded {
	file, err := syntax.Parse(sources)
	var found source.Errors
	_ = errors.As(err, &found) // Parse returns no other error.
	l := loader{errs: found, broken: map[string]bool{}, said: map[source.Pos]bool{}}
	for _, e := range found {
		l.broken[e.Rule] = true
		l.said[e.Pos] = true
	}
	for _, d := range file.Definitions {
		l.definitions(d)
	}
	p := &Program{}
	covered := map[*expr.Definition]bool{}
	for _, r := range file.Rules {
		if rule := l.compile(r); rule != nil {
			l.add(p, rule, r)
			for _, def := range l.definitions(r.Definitions).All() {
				if !covered[def] {
					covered[def] = true
					p.expressions = append(p.expressions, expressionsOf(def)...)
				}
			}
			p.expressions = append(p.expressions, rule.expressions...)
		}
	}
	loaded := &Loaded{Sources: sources, File: file, Unread: len(unread) > 0, Errors: source.Collect(sources, slices.Concat(unread, l.errs))}
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

	defined map[*syntax.Definitions]*expr.Definitions
	budget  expr.Budget // of all definitions
}

func (l *loader) errorf(pos source.Pos, rule, format string, args ...any) *source.Error {
	e := source.NewError(pos, rule, fmt.Sprintf(format, args...), "")
	if !l.said[pos] { // An error at the position of a parser error is only a consequence.
		l.errs = append(l.errs, e)
	}
	return e
}

// add adds a rule to the others of its kind, unless they conflict.
func (l *loader) add(p *Program, rule *Rule, src *syntax.Rule) {
	var same *Primary
	for _, other := range p.primaries {
		if other.GVK == rule.GVK {
			same = other
		} else if other.GVK.GroupKind() == rule.GVK.GroupKind() {
			l.errorf(src.For.APIVersion.Pos, rule.Name, "for.apiVersion: %s is version %s in rule %q: a kind can be watched in only one version",
				rule.GVK.Kind, other.GVK.Version, other.Rules[0].Name)
			return
		}
	}
	if same == nil {
		p.primaries = append(p.primaries, &Primary{GVK: rule.GVK, Rules: []*Rule{rule}})
		return
	}
	for _, other := range same.Rules {
		l.checkShared(rule, other, src)
	}
	same.Rules = append(same.Rules, rule)
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

// parseGVK joins an apiVersion and a kind.
func parseGVK(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}
