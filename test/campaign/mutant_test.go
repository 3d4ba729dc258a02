package campaign

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutant is a mistake in the controller that an oracle must find. It is a patch in
// testdata/mutants, after a header with these fields.
type mutant struct {
	name   string
	breaks string         // what it breaks
	caught *regexp.Regexp // matches the violation that an oracle reports
	plans  []string       // plans as JSON; one of them must fail
	test   string         // a test that must fail, with the environment that it needs; "": the plans
	patch  string         // the file
}

// source is the root of the module.
const source = "../.."

// field matches a field of a mutant's header.
var field = regexp.MustCompile(`(?m)^(Breaks|Caught|Plan|Test): (.+)$`)

// patched matches the name of a file that a patch changes.
var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

func readMutants(t *testing.T) (all []mutant) {
	t.Helper()
	files, err := filepath.Glob("testdata/mutants/*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all = append(all, readMutant(t, file))
	}
	return all
}

func readMutant(t *testing.T, file string) mutant {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".patch"), patch: file}
	header, _, _ := strings.Cut(string(text), "\n--- a/")
	for _, found := range field.FindAllStringSubmatch(header, -1) {
		switch value := found[2]; found[1] {
		case "Breaks":
			m.breaks = value
		case "Caught":
			m.caught = regexp.MustCompile(value)
		case "Plan":
			m.plans = append(m.plans, value)
		case "Test":
			m.test = value
		}
	}
	if m.breaks == "" || m.caught == nil || len(m.plans) == 0 && m.test == "" {
		t.Fatalf("%s: the header needs Breaks, Caught, and Plan or Test", file)
	}
	return m
}

// apply patches copies of the files that the mutant changes. It returns the overlay for
// `go build`, and fails the test if the patch does not apply.
func (m mutant) apply(t *testing.T) (overlay string) {
	t.Helper()
	text, err := os.ReadFile(m.patch)
	if err != nil {
		t.Fatal(err)
	}
	copies, replace := t.TempDir(), map[string]string{}
	for _, found := range patched.FindAllStringSubmatch(string(text), -1) {
		original, err := filepath.Abs(filepath.Join(source, found[1]))
		if err != nil {
			t.Fatal(err)
		}
		replace[original] = filepath.Join(copies, found[1])
		content, err := os.ReadFile(original)
		if err != nil {
			t.Fatalf("mutant %s: %v", m.name, err)
		}
		if err := os.MkdirAll(filepath.Dir(replace[original]), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(replace[original], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.Command("git", "apply", "-")
	git.Dir, git.Stdin = copies, strings.NewReader(string(text))
	git.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copies))
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("mutant %s no longer applies, adapt %s to the code: %v\n%s", m.name, m.patch, err, out)
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay = filepath.Join(copies, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// TestMutantsApply checks that every mutant fits the code.
func TestMutantsApply(t *testing.T) {
	for _, m := range readMutants(t) {
		t.Run(m.name, func(t *testing.T) { m.apply(t) })
	}
}
