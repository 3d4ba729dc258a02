package format

import (
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"go.yaml.in/yaml/v3"

	"reconcel/rules/source"
)

// errChanged is an error of this package: the layout would have another meaning.
var errChanged = errors.New("the layout would change the meaning of the file: please report this")

// Text lays out a file whose documents have a schema. The file must load. Its line ends
// stay as they are.
func Text(data []byte, root *source.Schema) ([]byte, error) {
	given := strings.TrimPrefix(string(data), "\ufeff")
	text := strings.ReplaceAll(given, "\r\n", "\n")
	documents, err := parse(text)
	if err != nil {
		return nil, err
	}
	text = quoted(text, documents)
	if documents, err = parse(text); err != nil {
		return nil, err
	}
	p := &printer{lines: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	out := strings.Join(p.documents(documents, root), "\n") + "\n"
	if !sameMeaning(given, out) {
		return nil, errChanged
	}
	if strings.Contains(given, "\r\n") {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return []byte(out), nil
}

// parse returns the documents of a text.
func parse(text string) (all []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		n := &yaml.Node{}
		if err := decoder.Decode(n); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

// Diff returns what the layout of a file changes, for people and for patch.
func Diff(file source.File, laid []byte) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(string(file.Data))), B: slices.Collect(strings.Lines(string(laid))),
		FromFile: file.Name, ToFile: file.Name + " (formatted)", Context: 3,
	})
}

// boolean matches words that are strings in rules, and booleans to kubectl and others.
var boolean = regexp.MustCompile(`^(yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)$`)

// quoted puts words that other readers of YAML take for something else into quotes.
func quoted(text string, documents []*yaml.Node) string {
	var words []*yaml.Node
	for _, n := range documents {
		words = appendWords(words, n)
	}
	slices.SortFunc(words, func(a, b *yaml.Node) int {
		return cmp.Or(cmp.Compare(b.Line, a.Line), cmp.Compare(b.Column, a.Column)) // from the end
	})
	lines := strings.Split(text, "\n")
	for _, n := range words {
		line := []rune(lines[n.Line-1])
		from := n.Column - 1
		to := from + len([]rune(n.Value))
		if to <= len(line) && string(line[from:to]) == n.Value {
			lines[n.Line-1] = string(line[:from]) + `"` + n.Value + `"` + string(line[to:])
		}
	}
	return strings.Join(lines, "\n")
}

func appendWords(words []*yaml.Node, n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Anchor == "" && (boolean.MatchString(n.Value) ||
		n.ShortTag() == "!!timestamp") {
		return append(words, n)
	}
	for _, c := range n.Content {
		words = appendWords(words, c)
	}
	return words
}

// sameMeaning reports whether two texts have the same data, in any order of keys.
func sameMeaning(a, b string) bool {
	before, err := parse(a)
	if err != nil {
		return false
	}
	after, err := parse(b)
	return err == nil && slices.EqualFunc(filled(before), filled(after), sameNode)
}

// filled returns the documents that have data.
func filled(documents []*yaml.Node) []*yaml.Node {
	return slices.DeleteFunc(documents, func(n *yaml.Node) bool {
		return len(n.Content) == 0 || n.Content[0].ShortTag() == "!!null"
	})
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || meantTag(a) != meantTag(b) || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return strings.ReplaceAll(a.Value, "\r\n", "\n") == b.Value
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.MappingNode:
		return sameEntries(a.Content, b.Content)
	}
	return slices.EqualFunc(a.Content, b.Content, sameNode)
}

// sameEntries compares the keys and values of two maps in any order.
func sameEntries(a, b []*yaml.Node) bool {
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(b); i += 2 {
		if b[i].Kind != yaml.ScalarNode {
			return slices.EqualFunc(a, b, sameNode)
		}
		values[b[i].Value] = b[i+1]
	}
	for i := 0; i+1 < len(a); i += 2 {
		if values[a[i].Value] == nil || !sameNode(a[i+1], values[a[i].Value]) {
			return false
		}
	}
	return true
}

// meantTag returns the type of a node. A date is a string in rules.
func meantTag(n *yaml.Node) string {
	if tag := n.ShortTag(); tag != "!!timestamp" {
		return tag
	}
	return "!!str"
}
