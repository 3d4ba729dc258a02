//go:build integration

package campaign

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reconcel/test/soak"
)

// TestMutants shows that the campaign finds mistakes: it builds the controller with one
// mistake at a time, and runs plans that must fail then, and only then. RECONCEL_MUTANT
// is a pattern that selects mutants by their names.
func TestMutants(t *testing.T) {
	t.Parallel()
	if !soak.Enabled() {
		t.Skip("builds the controller for each mutant: make mutants")
	}
	pattern := regexp.MustCompile(os.Getenv("RECONCEL_MUTANT"))
	all := slices.DeleteFunc(readMutants(t), func(m mutant) bool { return !pattern.MatchString(m.name) })
	s := newStage(t)
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) { s.catch(t, m) })
	}
}

// catch fails the test if the mutant survives.
func (s *stage) catch(t *testing.T, m mutant) {
	t.Helper()
	began := time.Now()
	binary := m.build(t)
	if m.test != "" {
		m.failTest(t, binary)
	} else {
		s.failPlan(t, m, binary)
	}
	if !t.Failed() {
		t.Logf("caught in %s: %s", time.Since(began).Round(time.Second), m.breaks)
	}
}

// build builds the controller with the mistake.
func (m mutant) build(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "reconcel")
	if out, err := exec.Command("go", "build", "-overlay", m.apply(t), "-o", binary, "reconcel").CombinedOutput(); err != nil {
		t.Fatalf("mutant %s does not compile: %v\n%s", m.name, err, out)
	}
	return binary
}

// failPlan runs the plans of a mutant until one fails.
func (s *stage) failPlan(t *testing.T, m mutant, binary string) {
	t.Helper()
	for _, text := range m.plans {
		var p plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p.Separate = true // Processes with and without the mistake must not share primaries.
		if _, found := s.violations(t, p); len(found) > 0 {
			t.Errorf("without a mistake in the controller, this plan must hold: %s\n%s", p, strings.Join(found, "\n"))
			continue
		}
		_, found, err := s.with(t, binary).attempt(t, p)
		if err != nil {
			found = append(found, err.Error())
		}
		said := strings.Join(found, "\n")
		switch {
		case strings.Contains(said, "panicked"), strings.Contains(said, "ended by itself"):
			t.Errorf("the mutant crashes, which needs no oracle: %s\n%s", p, said)
		case m.caught.MatchString(said):
			t.Logf("%s\n%s", p, said)
			return
		default:
			t.Logf("the mutant survives this plan: %s\n%s", p, said)
		}
	}
	t.Errorf("mutant %s survives, no plan reports %q: %s", m.name, m.caught, m.breaks)
}

// with returns the stage with another controller. It judges by the same references.
func (s *stage) with(t *testing.T, binary string) *stage {
	return &stage{T: t, world: s.world, cluster: s.cluster, binary: binary, history: s.history, strips: s.strips,
		shared: map[string]*controller{}, references: s.references}
}

// failTest runs a test of this package with the mutant, in a process of its own.
func (m mutant) failTest(t *testing.T, binary string) {
	t.Helper()
	words := strings.Fields(m.test)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	test := exec.Command(self, "-test.run", "^"+words[0]+"$", "-test.timeout", "10m")
	test.Env = append(os.Environ(), append(words[1:], "RECONCEL_BINARY="+binary, "RECONCEL_SOAK=")...)
	out, err := test.CombinedOutput()
	if err == nil || !m.caught.Match(out) {
		t.Errorf("mutant %s survives %s, which does not report %q (%v): %s\n%s", m.name, m.test, m.caught, err, m.breaks, out)
	}
}
