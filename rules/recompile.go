package rules

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// Recompile is Compile for the next version of rules files. A rule that has the same text at
// the same place is not compiled again, unless there are definitions beside it.
func (l *Loaded) Recompile(sources []source.File, unread ...*source.Error) *Loaded {
	if l.Program == nil {
		return Compile(sources, unread...)
	}
	earlier := earlierRules{passages: passagesOf(l.File, l.Sources), written: map[string][]*syntax.Rule{},
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
	passages map[*syntax.Rule][]byte
	written  map[string][]*syntax.Rule // by name
	rules    map[kindOfRule]*Rule
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
	passages := passagesOf(file, sources)
	return func(written []*syntax.Rule) (found []*Rule) {
		before := c.written[written[0].Name.Value]
		if len(before) != len(written) || !bytes.Equal(c.passages[before[0]], passages[written[0]]) {
			return nil
		}
		for i, r := range written {
			was := before[i]
			if was.Pos != r.Pos || was.Digest != r.Digest || was.Definitions != nil || r.Definitions != nil {
				return nil
			}
			found = append(found, c.rules[kindOfRule{was.Name.Value,
				parseGVK(was.For.APIVersion.Value, was.For.Kind.Value).GroupKind()}])
		}
		return found
	}
}

// passagesOf returns the lines of each rule, until the next one begins.
func passagesOf(file *syntax.File, sources []source.File) map[*syntax.Rule][]byte {
	starts := map[string][]*syntax.Rule{}
	for written := range file.Written() {
		starts[written[0].Pos.File] = append(starts[written[0].Pos.File], written[0])
	}
	passages := map[*syntax.Rule][]byte{}
	for _, f := range sources {
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
