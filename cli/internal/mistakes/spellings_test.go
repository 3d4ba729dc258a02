package mistakes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
	"reconcel/rules/source"
)

// A spelling writes a document of YAML in another way, as the same data.
type spelling struct {
	name  string
	write func(t *testing.T, text string) string
}

var spellings = []spelling{
	{"block", nodes(func(n *yaml.Node) { n.Style &^= yaml.FlowStyle })},
	{"flow", nodes(func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode {
			n.Style |= yaml.FlowStyle
		}
		unfold(n)
	})},
	{"compact JSON", asJSON("")},
	{"JSON with blanks", asJSON("  ")},
	{"JSON with tabs", asJSON("\t")},
	{"anchors", anchored},
	{"sorted keys", nodes(sortKeys)},
	{"double quotes", nodes(styled(yaml.DoubleQuotedStyle))},
	{"single quotes", nodes(styled(yaml.SingleQuotedStyle))},
	{"escaped characters", func(t *testing.T, text string) string {
		return strings.NewReplacer("$", `\x24`, "self", `\u0073elf`).Replace(nodes(styled(yaml.DoubleQuotedStyle))(t, text))
	}},
	{"literal blocks", nodes(styled(yaml.LiteralStyle))},
	{"folded at width 40", func(t *testing.T, text string) string { return folded(nodes(styled(yaml.FoldedStyle))(t, text)) }},
	{"indented by 8", indentedBy(8)},
	{"explicit keys", func(t *testing.T, text string) string {
		return regexp.MustCompile(`(?m)^(  )?(rules|children|let|status|for):\n`).ReplaceAllString(text, "$1? $2\n$1:\n")
	}},
	{"CRLF", func(_ *testing.T, text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }},
	{"byte order mark", func(_ *testing.T, text string) string { return "\ufeff" + text }},
	{"start of a document", func(_ *testing.T, text string) string { return "---\n" + text }},
	{"end of a document", func(_ *testing.T, text string) string { return text + "...\n" }},
	{"empty documents", func(_ *testing.T, text string) string { return "---\n---\n# nothing\n---\n" + text + "---\n" }},
	{"comments", func(_ *testing.T, text string) string {
		return commented(text, "# ${ \" ' {{ self.spec.x }} reconcel:ignoring")
	}},
	{"a long comment", func(_ *testing.T, text string) string { return "# " + strings.Repeat("x ", 100_000) + "\n" + text }},
	{"tabs before comments", func(_ *testing.T, text string) string {
		return outside(text, func(line string) string { return line + "\t# x" })
	}},
	{"trailing blanks", func(_ *testing.T, text string) string {
		return outside(text, func(line string) string { return line + "  \t" })
	}},
	{"blank lines", func(_ *testing.T, text string) string {
		return outside(text, func(line string) string { return line + "\n\n" })
	}},
	{"no final newline", func(_ *testing.T, text string) string { return strings.TrimRight(text, "\n") }},
	{"comments in other scripts", func(_ *testing.T, text string) string { return commented(text, "# größer 大きい \U0001f600") }},
}

// TestSpellings writes each example in each spelling. validate --strict finds nothing,
// and the rendering is the same.
func TestSpellings(t *testing.T) {
	kinds := kindsOf(t, root+"/crds")
	for example, s := range allSound(t) {
		if !strings.HasPrefix(s.rules, root) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			text := read(t, s.rules)
			want := rendered(t, s, text, kinds)
			if !strings.Contains(want, "kind: ") {
				t.Fatalf("renders nothing: %s", want)
			}
			for i, spelling := range spellings {
				if (i+example)%share != 0 {
					continue
				}
				again := spelling.write(t, text)
				if again == text && spelling.name != "block" {
					t.Errorf("%s: is not another spelling", spelling.name)
				}
				if got := rendered(t, s, again, kinds); got != want {
					t.Errorf("%s: renders\n%s\ninstead of\n%s", spelling.name, got, want)
				}
			}
		})
	}
}

// TestDocuments writes all examples into one file, each as a document of its own.
func TestDocuments(t *testing.T) {
	var texts []string
	for _, s := range allSound(t) {
		if strings.HasPrefix(s.rules, root) {
			texts = append(texts, read(t, s.rules))
		}
	}
	if found := judged(strings.Join(texts, "---\n"), kindsOf(t, root+"/crds")); len(found) > 0 {
		t.Error(found)
	}
}

// rendered returns what rules render for the resources of their example, after checking
// that validate --strict finds nothing.
func rendered(t *testing.T, s sound, text string, kinds offline.Kinds) string {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if found := strict(loaded, kinds); len(found) > 0 {
		t.Fatalf("%v\n%.5000s", found, text)
	}
	objects := func(paths []string) []*files.Object {
		all, err := kinds.Resources(files.Reader{}, paths, "default")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	observed, err := filepath.Glob(filepath.Join(filepath.Dir(s.rules), "observed.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	live := objects(append(observed, filesOf(t, s, "OBSERVED")...))
	r, err := offline.New(offline.Options{Program: loaded.Program, Kinds: kinds, Observed: live, Say: func(string, ...any) {}})
	if err != nil {
		t.Fatal(err)
	}
	r.Render(objects(filesOf(t, s, "RESOURCES")))
	out, err := r.Format("yaml")
	if err != nil {
		t.Fatal(err)
	}
	return position.ReplaceAllString(string(out), "")
}

var position = regexp.MustCompile(`\(rules\.yaml:[0-9]+\)`)

// filesOf returns the files of an example that make examples renders, or observes.
func filesOf(t *testing.T, s sound, variable string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + variable + "_" + s.name + " := (.*)$").FindStringSubmatch(read(t, root+"/Makefile"))
	if m == nil {
		return nil
	}
	var paths []string
	for name := range strings.FieldsSeq(m[1]) {
		paths = append(paths, filepath.Join(filepath.Dir(s.rules), name))
	}
	return paths
}

// nodes returns a spelling that changes each node of the document.
func nodes(change func(*yaml.Node)) func(*testing.T, string) string {
	return func(t *testing.T, text string) string {
		t.Helper()
		n := parsed(t, text)
		each(n, func(n *yaml.Node) {
			n.HeadComment, n.LineComment, n.FootComment = "", "", ""
			change(n)
		})
		return written(t, n, 2)
	}
}

func parsed(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	each(&n, func(n *yaml.Node) {
		if n.Style == yaml.FoldedStyle {
			n.Style = yaml.LiteralStyle // The encoder writes folded texts of several lines as another text.
		}
	})
	return &n
}

func written(t *testing.T, n *yaml.Node, indent int) string {
	t.Helper()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(indent)
	if err := e.Encode(n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func each(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, c := range n.Content {
		each(c, visit)
	}
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// styled writes all texts in a style. Keys stay as they are in the styles of blocks.
func styled(style yaml.Style) func(*yaml.Node) {
	isBlock := style == yaml.LiteralStyle || style == yaml.FoldedStyle
	return func(n *yaml.Node) {
		if isBlock {
			n.Style &^= yaml.FlowStyle
		}
		for i, c := range n.Content {
			isKey := n.Kind == yaml.MappingNode && i%2 == 0
			if isText(c) && !(isBlock && (isKey || strings.TrimSpace(c.Value) != c.Value || c.Value == "" || style == yaml.FoldedStyle && strings.Contains(c.Value, "\n"))) {
				c.Style = style
			}
		}
	}
}

// unfold writes a text of several lines in double quotes, since a block cannot be in
// braces.
func unfold(n *yaml.Node) {
	if isText(n) && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		n.Style = yaml.DoubleQuotedStyle
	}
}

func sortKeys(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	pairs := slices.Collect(slices.Chunk(slices.Clone(n.Content), 2))
	slices.SortFunc(pairs, func(a, b []*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	n.Content = slices.Concat(pairs...)
}

func asJSON(indent string) func(*testing.T, string) string {
	return func(t *testing.T, text string) string {
		t.Helper()
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", indent)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
}

// anchored writes a map or list that occurs again as an alias.
func anchored(t *testing.T, text string) string {
	t.Helper()
	n := parsed(t, text)
	seen := map[string]*yaml.Node{}
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		for i, c := range n.Content {
			isKey := n.Kind == yaml.MappingNode && i%2 == 0
			var v any
			if err := c.Decode(&v); err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("%#v", v)
			if first := seen[key]; first != nil && !isKey && c.Kind != yaml.ScalarNode {
				first.Anchor = fmt.Sprintf("a%d", len(key))
				n.Content[i] = &yaml.Node{Kind: yaml.AliasNode, Alias: first, Value: first.Anchor}
				continue
			}
			if !isKey {
				seen[key] = c
			}
			visit(c)
		}
	}
	visit(n)
	return written(t, n, 2) + "# " // Some examples have nothing twice.
}

func indentedBy(n int) func(*testing.T, string) string {
	return func(t *testing.T, text string) string { return written(t, parsed(t, text), n) }
}

var foldedHeader = regexp.MustCompile(`>-?$`)

// folded breaks the lines of folded texts at the first blank after 40 characters.
func folded(text string) string {
	var out []string
	indent := -1
	for line := range strings.SplitSeq(text, "\n") {
		own := len(line) - len(strings.TrimLeft(line, " "))
		if indent >= 0 && line != "" && own <= indent {
			indent = -1
		}
		if indent >= 0 {
			for len(line) > 40 {
				i := strings.IndexByte(line[40:], ' ') + 40
				if i < 40 || i+1 >= len(line) || line[i+1] == ' ' || line[i-1] == ' ' {
					break
				}
				out = append(out, line[:i])
				line = strings.Repeat(" ", own) + line[i+1:]
			}
		}
		out = append(out, line)
		if foldedHeader.MatchString(line) && indent < 0 {
			indent = own
			if isItem := strings.HasPrefix(line[own:], "- ") && strings.Contains(line, ": "); isItem {
				indent += 2 // that of the key
			}
		}
	}
	return strings.Join(out, "\n")
}

// outside changes the lines that are not part of a block text.
func outside(text string, change func(line string) string) string {
	inText := map[int]bool{}
	block := -1
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		own := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (line == "" || own > block) {
			inText[i] = true
			continue
		}
		block = -1
		if blockText.MatchString(line) {
			block = own
		}
	}
	for i, line := range lines {
		next := inText[i] || inText[i+1]
		if !next && line != "" && !strings.HasPrefix(strings.TrimSpace(line), "#") && !openQuote(lines, i) {
			lines[i] = change(line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// openQuote reports whether a quoted text goes on in the next line.
func openQuote(lines []string, i int) bool {
	return i+1 < len(lines) && strings.Count(lines[i], "'")%2 == 1
}

// commented adds a comment after each line.
func commented(text, comment string) string {
	return outside(text, func(line string) string { return line + " " + comment + "\n" + comment })
}

// TestSpellingsAreEqual compares the data of each spelling with that of the example.
func TestSpellingsAreEqual(t *testing.T) {
	for example, s := range allSound(t) {
		text := read(t, s.rules)
		var want any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		for i, spelling := range spellings {
			if spelling.name == "empty documents" || (i+example)%share != 0 {
				continue
			}
			var got any
			again := spelling.write(t, text)
			if err := yaml.Unmarshal([]byte(again), &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s: %v\n%s", s.name, spelling.name, err, again)
			}
		}
	}
}
