package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inline      = regexp.MustCompile("`((?:make|reconcel) [^`]+)`")
	target      = regexp.MustCompile(`(?m)^([a-z][\w -]*):`)
	commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}`)
	flagName    = regexp.MustCompile(`^--?[a-z][\w-]*`)
)

// TestNamedCommandsExist requires the targets of make, and the commands and flags of reconcel, that texts name.
func TestNamedCommandsExist(t *testing.T) {
	t.Parallel()
	s, helps, found := newShell(t, os.Getenv("PATH"), ""), map[string]string{}, 0
	help := func(command string) string {
		if _, known := helps[command]; !known {
			helps[command], _ = s.run(t, "reconcel "+command+" --help")
		}
		return helps[command]
	}
	var commands []string
	for _, m := range commandLine.FindAllStringSubmatch(help(""), -1) {
		commands = append(commands, m[1])
	}
	targets := makeTargets(t)
	for _, p := range pages(t) {
		for number, line := range p.prose() {
			for _, m := range inline.FindAllStringSubmatch(line, -1) {
				found++
				words := strings.Fields(m[1])
				switch {
				case words[0] == "make":
					if name := words[1]; !slices.Contains(targets, name) && !strings.ContainsAny(name, "=…") {
						t.Errorf("%s:%d: %s: there is no such target", p.path, number, m[1])
					}
				case words[1] == "COMMAND" || words[1] == "…" || strings.HasPrefix(words[1], "-"):
				case m[1] == "reconcel generates this value": // It stands for a value.
				case !slices.Contains(commands, words[1]):
					t.Errorf("%s:%d: %s: there is no such command", p.path, number, m[1])
				default:
					for _, word := range words[2:] {
						if flag := flagName.FindString(word); flag != "" && !regexp.MustCompile(`(^|\s)`+flag+`\b`).MatchString(help(words[1])) {
							t.Errorf("%s:%d: %s: reconcel %s has no %s", p.path, number, m[1], words[1], flag)
						}
					}
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d commands were found", found)
	}
}

// makeTargets returns the targets of the Makefile and of what it includes.
func makeTargets(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "hack", "make", "*.mk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(root, "Makefile")) {
		for _, m := range target.FindAllStringSubmatch(read(t, file), -1) {
			all = append(all, strings.Fields(m[1])...)
		}
	}
	return all
}
