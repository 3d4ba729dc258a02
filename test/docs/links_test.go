package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	code    = regexp.MustCompile("``[^`]+(`[^`]+)*``|`[^`]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ (.*)$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	unslug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors that GitHub derives from the headings of a page.
func (p page) anchors() map[string]bool {
	all := map[string]bool{}
	prose := p.prose()
	for i := range p.lines {
		m := heading.FindStringSubmatch(prose[i+1])
		if m == nil {
			continue
		}
		text := linked.ReplaceAllString(m[1], "$1")
		slug := strings.ReplaceAll(unslug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		anchor := slug
		for n := 1; all[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", slug, n)
		}
		all[anchor] = true
	}
	return all
}

// TestLinksLeadSomewhere checks every relative link of every page.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	anchors := map[string]map[string]bool{}
	for _, p := range all {
		anchors[p.path] = p.anchors()
	}
	followed := 0
	for _, p := range all {
		for number, line := range p.prose() {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				followed++
				file, anchor, hasAnchor := strings.Cut(m[1], "#")
				target := p.path
				if file != "" {
					target = path.Join(path.Dir(p.path), file)
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s:%d: %s does not exist", p.path, number, m[1])
				} else if hasAnchor && !anchors[target][anchor] {
					t.Errorf("%s:%d: %s has no heading #%s", p.path, number, target, anchor)
				}
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were found", followed)
	}
}

// TestPagesAreReachable expects links from the README to every page of docs/.
func TestPagesAreReachable(t *testing.T) {
	byPath := map[string]page{}
	for _, p := range pages(t) {
		byPath[p.path] = p
	}
	reached, next := map[string]bool{"README.md": true}, []string{"README.md"}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, line := range byPath[from].prose() {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				file, _, _ := strings.Cut(m[1], "#")
				target := path.Join(path.Dir(from), file)
				if _, ok := byPath[target]; ok && !reached[target] {
					reached[target] = true
					next = append(next, target)
				}
			}
		}
	}
	for p := range byPath {
		if strings.HasPrefix(p, "docs/") && !reached[p] {
			t.Errorf("no link leads from README.md to %s", p)
		}
	}
}
