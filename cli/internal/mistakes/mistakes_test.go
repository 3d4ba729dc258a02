package mistakes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/offline"
	"reconcel/rules/source"
	"reconcel/test/race"
)

// share is the part of the mutants and spellings that is tried, one in so many. The race
// detector makes everything slow; make test tries all of them without it.
var share = map[bool]int{true: 10, false: 1}[race.Enabled()]

const list = "testdata/mistakes.jsonl"

// What must hold, in percent.
const (
	wantFound  = 95 // of the mistakes
	wantOnLine = 98 // of what is found
)

// A mutant is a sound file with one mistake.
type mutant struct {
	Class string `json:"class"`
	In    string `json:"in"`            // the name of the sound rules
	CRD   string `json:"crd,omitempty"` // the file of the mistake, if it is not the rules file
	Line  int    `json:"line"`          // where the old text begins, from 1
	Byte  int    `json:"byte"`          // in the line, from 0
	Old   string `json:"old"`
	New   string `json:"new"`
	At    []int  `json:"at"` // the lines of the mistake
	// Sound is the reason why this is no mistake.
	Sound  string `json:"sound,omitempty"`
	Missed bool   `json:"missed,omitempty"` // validate does not find it
	Astray bool   `json:"astray,omitempty"` // no message is on these lines
}

func (m mutant) String() string {
	return fmt.Sprintf("%s: %s:%d: %q instead of %q", m.Class, cmp.Or(m.CRD, m.In), m.Line, m.New, m.Old)
}

// apply makes the mistake.
func (m mutant) apply(text string) (string, error) {
	start := 0
	for range m.Line - 1 {
		next := strings.IndexByte(text[start:], '\n')
		if next < 0 {
			return "", fmt.Errorf("%v: there is no such line: run go test -update", m)
		}
		start += next + 1
	}
	at := start + m.Byte
	if at > len(text) || !strings.HasPrefix(text[at:], m.Old) {
		return "", fmt.Errorf("%v: the text is not there: run go test -update", m)
	}
	return text[:at] + m.New + text[at+len(m.Old):], nil
}

// A result is what validate says about a mutant.
type result struct {
	found source.Errors
	err   error // of a CRD
}

func (r result) any() bool { return r.err != nil || len(r.found) > 0 }

// onLine reports whether a message is on one of the lines.
func (r result) onLine(lines []int) bool {
	found := r.found
	if r.err != nil {
		_ = errors.As(r.err, &found)
	}
	return slices.ContainsFunc(found, func(e *source.Error) bool { return slices.Contains(lines, e.Pos.Line) })
}

// A bench tries mutants.
type bench struct {
	*testing.T
	sound map[string]sound
	texts map[string]string // of files, by path
	kinds map[string]offline.Kinds
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, sound: map[string]sound{}, texts: map[string]string{}, kinds: map[string]offline.Kinds{}}
	for _, s := range allSound(t) {
		b.sound[s.name] = s
		b.texts[s.rules] = read(t, s.rules)
		if _, known := b.kinds[s.crds]; !known {
			b.kinds[s.crds] = kindsOf(t, s.crds)
		}
	}
	return b
}

// try validates a mutant.
func (b *bench) try(m mutant) result {
	s, known := b.sound[m.In]
	if !known {
		b.Fatalf("%v: there are no such rules", m)
	}
	if m.CRD == "" {
		text, err := m.apply(b.texts[s.rules])
		if err != nil {
			b.Fatal(err)
		}
		return result{found: judged(text, b.kinds[s.crds])}
	}
	path := filepath.Join(b.crdFolder(s), m.CRD)
	text, err := m.apply(read(b.T, path))
	if err != nil {
		b.Fatal(err)
	}
	changed := filepath.Join(b.TempDir(), m.CRD)
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	kinds, err := offline.ReadKinds(files.Reader{}, []string{changed})
	if err != nil {
		return result{err: err}
	}
	return result{found: judged(b.texts[s.rules], kinds)}
}

// crdFolder returns the folder of the CRDs.
func (b *bench) crdFolder(s sound) string {
	if filepath.Ext(s.crds) != "" {
		return filepath.Dir(s.crds)
	}
	return s.crds
}

// tryAll validates mutants, in parallel.
func (b *bench) tryAll(all []mutant) []result {
	results := make([]result, len(all))
	b.Run("mutants", func(t *testing.T) {
		const parts = 8
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				one := *b
				one.T = t
				for i := part * share; i < len(all); i += parts * share {
					results[i] = one.try(all[i])
				}
			})
		}
	})
	return results
}

func readMutants(t *testing.T) []mutant {
	t.Helper()
	var all []mutant
	for line := range strings.Lines(read(t, list)) {
		var m mutant
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func writeMutants(t *testing.T, all []mutant) {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for _, m := range all {
		if err := encoder.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(list, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMistakes validates each mutant. It fails if a mistake is missed that was found
// before, and if fewer are found in all than what must hold. With -v, it prints what is
// found of each class.
func TestMistakes(t *testing.T) {
	b := newBench(t)
	all := readMutants(t)
	if *update {
		all = generate(b, all)
	}
	results := b.tryAll(all)

	total := &tally{}
	classes := map[string]*tally{}
	for i, m := range all {
		if i%share > 0 {
			continue
		}
		r := results[i]
		if m.Sound != "" {
			if r.any() {
				t.Errorf("%v\nis no mistake: %s; got %v %v", m, m.Sound, r.found, r.err)
			}
			continue
		}
		if classes[m.Class] == nil {
			classes[m.Class] = &tally{}
		}
		total.add(r, m)
		classes[m.Class].add(r, m)
		missed, astray := !r.any(), r.any() && !r.onLine(m.At)
		switch {
		case *update:
			all[i].Missed, all[i].Astray = missed, astray
		case missed && !m.Missed:
			t.Errorf("%v\nis no longer found", m)
		case astray && !m.Astray:
			t.Errorf("%v\nis no longer reported on the lines %v, but: %v %v", m, m.At, r.found, r.err)
		}
		if testing.Verbose() && (missed || astray) {
			t.Logf("%v\n%v %v", m, r.found, r.err)
		}
	}
	if *update {
		writeMutants(t, all)
	}
	t.Logf("\n%s", table(classes, total))
	if share > 1 {
		return
	}
	if total.tried < 500 {
		t.Errorf("%d mistakes, want at least 500", total.tried)
	}
	if 100*total.found < wantFound*total.tried {
		t.Errorf("%d of %d mistakes are found, want %d %%", total.found, total.tried, wantFound)
	}
	if 100*total.onLine < wantOnLine*total.found {
		t.Errorf("%d of %d messages are on the line, want %d %%", total.onLine, total.found, wantOnLine)
	}
}

// A tally counts mistakes.
type tally struct{ tried, found, onLine int }

func (c *tally) add(r result, m mutant) {
	c.tried++
	if r.any() {
		c.found++
	}
	if r.onLine(m.At) {
		c.onLine++
	}
}

func table(classes map[string]*tally, total *tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "class\ttried\tfound\ton the line")
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", name, c.tried, c.found, c.onLine)
	}
	fmt.Fprintf(w, "all\t%d\t%.1f %%\t%.1f %%\n", total.tried, 100*float64(total.found)/float64(total.tried), 100*float64(total.onLine)/float64(total.found))
	_ = w.Flush() // A strings.Builder has no errors.
	return b.String()
}
