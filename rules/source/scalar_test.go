package source

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestRandomScalars decodes unusual scalars in all styles.
func TestRandomScalars(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 1_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(options ...string) string { return options[random.IntN(len(options))] }
	for range rounds {
		var text strings.Builder
		for range random.IntN(20) {
			text.WriteString(pick("a", "é", "日", " ", "  ", "\n", "\n  ", "\n   ", "\n \n", "\r\n  ", "\t", `''`, `\"`, `\n`, `\x41`, "\\\n  ", "#", " #", ":", "x"))
		}
		s := text.String()
		value := pick(
			"  "+s,
			"'"+s+"'",
			`"`+s+`"`,
			"|"+pick("", "-", "+", "1", "2-", "+1")+pick("", " # c")+"\n  "+s,
			">"+pick("", "-", "+", "1", "2-", "+1")+pick("", " # c")+"\n  "+s,
			"&anchor '"+s+"'",
			"&anchor\n  # comment\n  "+s,
			"&a |\n   "+s,
		)
		data := pick("k: ", "- ", "- k: ", "a:\n  b: ", "\ufeffk: ", "k:\n  ") + value + pick("", "\n", "\nz: 1\n", "\n...\n")
		checkScalars(t, File{Name: "random.yaml", Data: []byte(data)})
		if t.Failed() {
			t.Fatalf("in %q", data)
		}
	}
}

// checkScalars requires that trace decodes every scalar as YAML does.
func checkScalars(t *testing.T, file File) {
	t.Helper()
	text := newText(file)
	if text.check() != nil {
		return
	}
	docs, _ := text.load()
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.Value != "" && n.Style&yaml.TaggedStyle == 0 {
			c := text.cursor(text.pos(n))
			if c.skipAnchor(); c.peek() != '!' {
				tr := trace{cursor: c, want: len([]rune(n.Value))}
				if tr.decode(n); tr.text.String() != n.Value {
					t.Errorf("%v: value %q is decoded as %q", text.pos(n), n.Value, tr.text.String())
				}
			}
		}
		for _, child := range n.Content {
			walk(child)
		}
	}
	for _, doc := range docs {
		walk(doc)
	}
}

func TestScalars(t *testing.T) {
	for _, file := range rulesFiles(t) {
		checkScalars(t, file)
	}
}

// FuzzScalars requires that trace decodes every scalar of any file as YAML does.
func FuzzScalars(f *testing.F) {
	for _, file := range rulesFiles(f) {
		f.Add(file.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkScalars(t, File{Name: "fuzz.yaml", Data: data}) })
}

// rulesFiles returns the test files for the grammar of rules.
func rulesFiles(t testing.TB) []File {
	t.Helper()
	paths, err := filepath.Glob("../syntax/testdata/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files, %v", err)
	}
	var files []File
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{Name: filepath.Base(path), Data: data})
	}
	return files
}
