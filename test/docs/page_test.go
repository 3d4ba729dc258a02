package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository's folder, relative to this package.
const root = "../.."

// page is one Markdown file.
type page struct {
	path  string // relative to the root
	lines []string
}

// block is a fenced block of a page.
type block struct {
	language string
	marker   string // the HTML comment before it, without the brackets
	first    int    // index of its first line
	indent   string // of all its lines
	lines    []string
}

// pages reads all Markdown files of the tree, and llms.txt, which is Markdown too.
func pages(t *testing.T) (all []page) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"bin", "testdata", ".git", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" && d.Name() != "llms.txt":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all = append(all, page{path: filepath.ToSlash(name), lines: strings.Split(string(data), "\n")})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return all
}

var markerLine = regexp.MustCompile(`^\s*<!-- (.*) -->$`)

// blocks returns the fenced blocks of a page.
func (p page) blocks() (all []block) {
	open, marker := false, ""
	for i, line := range p.lines {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		comment := markerLine.FindStringSubmatch(line)
		switch {
		case isFence && open:
			open, marker = false, ""
		case isFence:
			open = true
			indent := line[:strings.Index(line, "`")]
			all = append(all, block{language: fence, marker: marker, first: i + 1, indent: indent})
		case open:
			last := &all[len(all)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, last.indent))
		case comment != nil:
			marker = comment[1]
		case line != "":
			marker = ""
		}
	}
	return all
}

// prose returns the lines of a page outside of blocks, by line number from 1.
func (p page) prose() map[int]string {
	prose := map[int]string{}
	for i, line := range p.lines {
		prose[i+1] = line
	}
	for _, b := range p.blocks() {
		for i := range len(b.lines) + 2 {
			delete(prose, b.first+i)
		}
	}
	return prose
}

// argument returns the argument of a marker.
func (b block) argument(name string) (string, bool) { return strings.CutPrefix(b.marker, name+": ") }

// runBy returns the test that runs a page instead of this package.
func (p page) runBy() string {
	for _, line := range p.lines {
		if m := markerLine.FindStringSubmatch(line); m != nil {
			if file, ok := strings.CutPrefix(m[1], "run by: "); ok {
				return file
			}
		}
	}
	return ""
}

// needsCluster reports whether a page has blocks for a cluster.
func (p page) needsCluster() bool {
	return slices.ContainsFunc(p.blocks(), func(b block) bool { return b.marker == "cluster" })
}
