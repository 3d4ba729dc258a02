package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// formatDiff returns the result for stdout: diffs for people and for patch, or a
// JSON list for programs.
func formatDiff(changes []change, output string) ([]byte, error) {
	var b bytes.Buffer
	if output == "json" {
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err := encoder.Encode(changes)
		return b.Bytes(), err
	}
	for i := range changes {
		c := &changes[i]
		if !c.Action.IsDifference() {
			continue // Printed to stderr.
		}
		b.WriteString("# " + c.title() + "\n")
		live, wanted := c.headers()
		fmt.Fprintf(&b, "diff -u %s %s\n", live, wanted)
		b.WriteString(c.Diff)
	}
	return b.Bytes(), nil
}

// title returns the line above a diff.
func (c *change) title() string {
	title := c.subject() + ": " + string(c.Action)
	if c.Reason != "" {
		title += " (" + c.Reason + ")"
	}
	return title
}

// subject names the rule and the child or part of a change.
func (c *change) subject() string {
	subject := fmt.Sprintf("%s: rule %q", c.Primary, c.Rule)
	if c.Child != "" {
		subject += fmt.Sprintf(", child %q", c.Child)
	}
	if c.Part != "" {
		subject += ", " + string(c.Part)
	}
	return subject
}

// subjectAndObject is the subject for lines without the header of a diff.
func (c *change) subjectAndObject() string {
	subject := c.subject()
	if c.Child != "" && c.Object.Name != "" {
		subject += " (" + c.Object.String() + ")"
	}
	return subject
}

// note is the line for stderr about an object that is not written.
func (c *change) note() string {
	return c.subjectAndObject() + ": " + string(c.Action) + ": " + c.Reason
}

func (c *change) headers() (live, wanted string) {
	path := c.Object.String()
	if c.Part == partStatus {
		path += "/status"
	}
	return "live/" + path, "rules/" + path
}

// unified returns the unified diff of a change, as diff -u prints it.
func unified(c *change) (string, error) {
	live, wanted := c.headers()
	before, err := yamlLines(c.Before)
	if err != nil {
		return "", err
	}
	after, err := yamlLines(c.After)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", live, wanted)
	for _, group := range difflib.NewMatcherWithJunk(before, after, len(before) > manyLines, nil).GetGroupedOpCodes(3) {
		first, last := group[0], group[len(group)-1]
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", hunkRange(first.I1, last.I2), hunkRange(first.J1, last.J2))
		for _, code := range group {
			if code.Tag == 'e' {
				writeLines(&b, ' ', before[code.I1:code.I2])
				continue
			}
			writeLines(&b, '-', before[code.I1:code.I2])
			writeLines(&b, '+', after[code.J1:code.J2])
		}
	}
	return b.String(), nil
}

// manyLines is the length from which on the diff ignores frequent lines when it
// looks for common ones. This takes less time, but the diff may be longer than
// necessary.
const manyLines = 5000

func writeLines(b *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		b.WriteByte(mark)
		b.WriteString(line)
	}
}

// hunkRange prints a range of lines as diff does.
func hunkRange(start, stop int) string {
	switch n := stop - start; n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	default:
		return fmt.Sprintf("%d,%d", start+1, n)
	}
}

// yamlLines returns the lines of an object, or nil without an object.
func yamlLines(object map[string]any) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(text), "\n")
	return lines[:len(lines)-1], nil // YAML ends with a line break.
}

// isTerminal reports whether a person reads the output.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

func coloured(w io.Writer) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(w) }

// Escape sequences of a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	cyan   = "\x1b[36m"
	normal = "\x1b[0m"
)

func colour(text []byte) []byte {
	var b bytes.Buffer
	for line := range strings.SplitAfterSeq(string(text), "\n") {
		code := ""
		switch {
		case strings.HasPrefix(line, "# "), strings.HasPrefix(line, "diff -u "),
			strings.HasPrefix(line, "--- live/"), strings.HasPrefix(line, "+++ rules/"):
			code = bold
		case strings.HasPrefix(line, "@@ "):
			code = cyan
		case strings.HasPrefix(line, "-"):
			code = red
		case strings.HasPrefix(line, "+"):
			code = green
		}
		rest, found := strings.CutSuffix(line, "\n")
		if code == "" || !found {
			b.WriteString(line)
			continue
		}
		b.WriteString(code + rest + normal + "\n")
	}
	return b.Bytes()
}

// A progress is a line on stderr about long work. It is shown on a terminal only.
type progress struct {
	done, total atomic.Int64
	end, ended  chan struct{}
}

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
)

// startProgress counts the steps of some work once their total is set. stop ends
// it.
func (a *app) startProgress() *progress {
	p := &progress{end: make(chan struct{}), ended: make(chan struct{})}
	if !isTerminal(a.stderr) {
		close(p.ended)
		return p
	}
	go p.show(a.stderr)
	return p
}

func (p *progress) step() { p.done.Add(1) }

// stop clears the line.
func (p *progress) stop() {
	close(p.end)
	<-p.ended
}

func (p *progress) show(w io.Writer) {
	defer close(p.ended)
	next := time.NewTimer(progressAfter)
	defer next.Stop()
	for shown := false; ; shown = true {
		select {
		case <-p.end:
			if shown {
				fmt.Fprint(w, "\r\x1b[K")
			}
			return
		case <-next.C:
			text := "reading the cluster"
			if total := p.total.Load(); total > 0 {
				text = fmt.Sprintf("compared %d of %d resources", p.done.Load(), total)
			}
			fmt.Fprint(w, "\r\x1b[K"+text)
			next.Reset(progressEvery)
		}
	}
}
