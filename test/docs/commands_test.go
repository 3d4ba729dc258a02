package docs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var flagLine = regexp.MustCompile(`(?m)^\s+(?:-\w, )?--[\w-]+.*$`)

// TestEveryFlagIsOnThePage requires docs/reference/cli.md to show each flag of a command
// in its help, or in the table of common flags in a row that names the command.
func TestEveryFlagIsOnThePage(t *testing.T) {
	t.Parallel()
	all := pages(t)
	p := all[slices.IndexFunc(all, func(p page) bool { return p.path == "docs/reference/cli.md" })]
	common, helps, s, seen := p.commonFlags(t), p.helps(), newShell(t, os.Getenv("PATH"), ""), 0
	for name, shown := range helps {
		printed, _ := s.run(t, "reconcel "+name+" --help")
		_, printed, _ = strings.Cut(printed, "\nFlags:\n")
		flags := normalLines(flagLine.FindAllString(printed, -1))
		for _, flag := range flags {
			seen++
			if !slices.Contains(shown, flag) && !slices.Contains(common[name], flag) && !strings.Contains(flag, "--help ") {
				t.Errorf("%s does not show the flag of reconcel %s: %s", p.path, name, flag)
			}
		}
		for _, flag := range common[name] {
			if !slices.Contains(flags, flag) {
				t.Errorf("%s: reconcel %s does not have the common flag %s", p.path, name, flag)
			}
		}
	}
	for name := range common {
		if helps[name] == nil {
			t.Errorf("%s has no help of reconcel %s", p.path, name)
		}
	}
	if seen < 150 {
		t.Errorf("only %d flags were found", seen)
	}
}

// helps returns the lines of each command's help on a page.
func (p page) helps() map[string][]string {
	all := map[string][]string{}
	for _, b := range p.blocks() {
		for _, c := range b.commands() {
			if name, isHelp := strings.CutSuffix(strings.TrimPrefix(c.text, "reconcel "), " --help"); isHelp {
				all[name] = normalLines(c.output)
			}
		}
	}
	return all
}

// commonFlags returns the flags in the table of common flags, by command.
func (p page) commonFlags(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, line := range p.lines {
		if !strings.HasPrefix(line, "| `-") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), " | ")
		if len(cells) != 3 {
			t.Fatalf("%s: %q has %d cells", p.path, line, len(cells))
		}
		flag := strings.Trim(cells[0], "|` ") + " " + cells[1]
		for name := range strings.SplitSeq(strings.Trim(cells[2], "| "), ", ") {
			name = strings.Trim(name, "`")
			all[name] = append(all[name], strings.ReplaceAll(flag, "\x00", "|"))
		}
	}
	return all
}

// normalLines returns lines with single blanks between words.
func normalLines(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}
