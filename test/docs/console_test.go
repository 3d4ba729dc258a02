package docs

import (
	"cmp"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"reconcel/cli"
	"reconcel/internal/conversion"
)

var update = flag.Bool("update", false, "write into the pages what their commands print")

// varying matches output that may differ between a page and a run.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[\w.-]+_[0-9a-f]{8}-[0-9a-f-]{27}`), "PROCESS"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d( |\t)[\d:.]+( [+-]\d{4})?`), "TIME"},
	{regexp.MustCompile(`/tmp/[\w./-]+`), "FOLDER"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+(:\d+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`\b(\d+[dhm])?(\d+[hm])?\d+(\.\d+)?( ?ms|[dhmsµ]s?)\b`), "AGE"},
	{regexp.MustCompile(`\(x\d+ over AGE\)`), ""},
	{regexp.MustCompile(`-[a-z0-9]{7,10}-[a-z0-9]{5}\b`), "-POD"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "HASH"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// invariable replaces the varying parts of a line.
func invariable(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.by)
	}
	return strings.TrimSpace(line)
}

// reading matches the commands that are repeated until their output matches: the cluster
// may need a moment.
var reading = regexp.MustCompile(`^(kubectl (get|events|describe|logs)|reconcel (status|diff)|grep|tail|curl)\b`)

// command is a command in a console block, with the output on the page.
type command struct {
	text   string
	output []string
	line   int // number of its first line of output, from 0
}

// commands reads a block of console.
func (b block) commands() (all []command) {
	for i, line := range b.lines {
		text, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			all = append(all, command{text: text, line: b.first + i + 1})
		case len(all) == 0:
		case strings.HasSuffix(all[len(all)-1].text, "\\"):
			last := &all[len(all)-1]
			last.text += "\n" + line
			last.line++
		default:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	for i := range all {
		for n := len(all[i].output); n > 0 && all[i].output[n-1] == ""; n-- {
			all[i].output = all[i].output[:n-1]
		}
	}
	return all
}

// agrees reports whether the printed output matches the page. A line "..." on the page
// stands for any number of lines.
func agrees(shown, printed []string) bool {
	switch {
	case len(shown) == 0:
		return len(printed) == 0
	case shown[0] == "...":
		return agrees(shown[1:], printed) || len(printed) > 0 && agrees(shown, printed[1:])
	default:
		return len(printed) > 0 && invariable(shown[0]) == invariable(printed[0]) && agrees(shown[1:], printed[1:])
	}
}

// repair replaces lines of a page by the output of a command.
type repair struct {
	from, to int
	indent   string
	by       []string
}

// follow runs the blocks of a page in order. It skips blocks for a cluster if there is
// none.
func (p page) follow(t *testing.T, s *shell) {
	t.Helper()
	var repairs []repair
	for _, b := range p.blocks() {
		if file, ok := b.argument("file"); ok {
			text := strings.Join(b.lines, "\n") + "\n"
			if err := os.WriteFile(filepath.Join(s.folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		_, skipped := b.argument("not run")
		if b.language != "console" || skipped || b.marker == "cluster" && !s.cluster {
			continue
		}
		for _, c := range b.commands() {
			printed, ok := s.shows(t, c)
			if !ok && len(c.output) == 0 {
				t.Errorf("%s:%d: $ %s fails:\n%s", p.path, c.line, c.text, strings.Join(printed, "\n"))
			} else if !ok && *update {
				repairs = append(repairs, repair{c.line, c.line + len(c.output), b.indent, printed})
			} else if !ok {
				t.Errorf("%s:%d: $ %s\nprints\n%s\nand the page shows\n%s", p.path, c.line, c.text, strings.Join(printed, "\n"), strings.Join(c.output, "\n"))
			}
		}
	}
	p.repair(t, repairs)
}

// shows runs a command, and reports whether its output matches the page. A command
// without output on the page must succeed.
func (s *shell) shows(t *testing.T, c command) (printed []string, ok bool) {
	t.Helper()
	for began := time.Now(); ; pause(t, 200*time.Millisecond) {
		text, exitCode := s.run(t, c.text)
		if len(c.output) == 0 {
			return strings.Split(text, "\n"), exitCode == 0
		}
		printed = strings.Split(strings.TrimRight(text, "\n"), "\n")
		if agrees(c.output, printed) {
			return printed, true
		}
		if !s.cluster || !reading.MatchString(c.text) || time.Since(began) > 20*time.Second {
			return printed, false
		}
	}
}

func (p page) repair(t *testing.T, repairs []repair) {
	t.Helper()
	if len(repairs) == 0 {
		return
	}
	slices.SortFunc(repairs, func(a, b repair) int { return cmp.Compare(b.from, a.from) })
	for _, r := range repairs {
		for i, line := range r.by {
			if line != "" {
				r.by[i] = strings.TrimRight(r.indent+line, " ")
			}
		}
		p.lines = slices.Replace(p.lines, r.from, r.to, r.by...)
	}
	if err := os.WriteFile(filepath.Join(root, p.path), []byte(strings.Join(p.lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reconcel": func() { os.Exit(cli.Main()) }}) //nolint:forbidigo // The test binary is the command itself.
}

// withConvert returns a PATH with the program reconcel-convert, which is in a module of its own.
func withConvert(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(folder, conversion.Program), ".")
	build.Dir = filepath.Join(root, "convert")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// TestConsole runs the blocks that need no cluster.
func TestConsole(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		t.Run(p.path, func(t *testing.T) {
			path := os.Getenv("PATH")
			if strings.Contains(strings.Join(p.lines, "\n"), "$ reconcel import ") {
				path = withConvert(t)
			}
			if p.runBy() == "" {
				p.follow(t, newShell(t, path, ""))
			}
		})
	}
}

// TestBlocksAreMarkedRight rejects unknown markers, and console blocks that are skipped
// without an explicit marker.
func TestBlocksAreMarkedRight(t *testing.T) {
	known := regexp.MustCompile(`^(cluster|file: [\w./-]+|not run: .{10,}|run by: .+)?$`)
	ran := 0
	for _, p := range pages(t) {
		if file := p.runBy(); file != "" {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s: its test %s does not exist", p.path, file)
			}
		}
		for _, b := range p.blocks() {
			if !known.MatchString(b.marker) {
				t.Errorf("%s:%d: unknown marker %q", p.path, b.first, b.marker)
			}
			if b.language != "console" {
				continue
			}
			ran++
			if len(b.commands()) == 0 {
				t.Errorf("%s:%d: a block of console without a command", p.path, b.first)
			}
		}
	}
	if ran < 20 {
		t.Errorf("only %d blocks of console were found", ran)
	}
}
