package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The module with kro's published examples. Only its files are read.
const (
	kroModule = "github.com/kubernetes-sigs/kro@v0.9.4"
	kroSum    = "h1:gynhldCLYW5x+M0c2Bf1ihoQTpNE68SKiXl1f6aX1kk="
)

// importPage says how many examples convert, and importTable what is wrong with the others.
const (
	importPage  = "../docs/how-to/import.md"
	importTable = "testdata/kro_examples.md"
)

// temporary is the path of the folder of a test in a message.
var temporary = regexp.MustCompile(`/\S*/TestImportOfKro\w*/\d+/`)

// TestImportOfKroExamples imports each ResourceGraphDefinition among kro's examples, and
// validates the result with the CRDs of the others in its folder. importTable has what does not
// convert.
func TestImportOfKroExamples(t *testing.T) {
	all := importExamples(t, kroExamples(t))
	var good, checked int
	for _, e := range all {
		if e.code == 0 && e.invalid == "" {
			good++
			if !strings.Contains(e.report, "not checked without a schema") {
				checked++
			}
		}
	}
	if good < 37 {
		t.Errorf("only %d of %d examples convert", good, len(all))
	}
	summary := fmt.Sprintf("Of %d definitions, %d convert completely, and the result passes `validate --strict`. %d of these have only kinds whose schemas are known.\n",
		len(all), good, checked)
	var table strings.Builder
	table.WriteString("| example | what import or validate says |\n|---|---|\n")
	for _, e := range all {
		if says := temporary.ReplaceAllString(e.complaint(), ""); says != "" {
			fmt.Fprintf(&table, "| %s | %s |\n", e.file, strings.ReplaceAll(says, "|", `\|`))
		}
	}
	page, err := os.ReadFile(importPage)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- examples of kro: cd convert && go test . -run ImportOfKro -update -->\n", "<!-- end of the examples -->\n"
	before, rest, began := strings.Cut(string(page), from)
	_, after, ended := strings.Cut(rest, to)
	if !began || !ended {
		t.Fatalf("%s has no place for the examples", importPage)
	}
	recorded(t, importPage, before+from+summary+to+after)
	recorded(t, importTable, table.String())
}

// recorded compares a file with what it has to be, or writes it.
func recorded(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not up to date (%v): cd convert && go test . -run ImportOfKro -update writes\n%s", file, err, want)
	}
}

// kroExamples returns the folder of the examples in the module cache.
func kroExamples(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", kroModule)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GONOSUMDB=github.com/kubernetes-sigs/kro") // kroSum says what it has to be.
	out, err := cmd.Output()
	var module struct{ Dir, Sum string }
	if err != nil || json.Unmarshal(out, &module) != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	if module.Sum != kroSum {
		t.Fatalf("%s has the sum %s, expected %s", kroModule, module.Sum, kroSum)
	}
	return filepath.Join(module.Dir, "examples")
}

// An imported example is a definition and the result of its import.
type importedExample struct {
	file    string
	folder  string // of the result
	crd     string // the name of its first CRD
	code    int
	report  string
	invalid string // what validate says
}

// complaint returns the first thing that is wrong.
func (e *importedExample) complaint() string {
	for line := range strings.Lines(e.report + e.invalid) {
		if _, message, found := strings.Cut(line, ": error: "); found {
			return strings.TrimSpace(message)
		}
	}
	return ""
}

var (
	isDefinition = regexp.MustCompile(`(?m)^kind: ResourceGraphDefinition`)
	allowedKind  = regexp.MustCompile(`--allow-kind [\w.]+`)
	crdName      = regexp.MustCompile(`(?m)^metadata:\n(?:  annotations:\n(?:    .*\n)*)?  name: (.*)$`)
)

func importExamples(t *testing.T, folder string) (all []*importedExample) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !isDefinition.Match(text) {
			return err
		}
		e := &importedExample{folder: t.TempDir()}
		e.file, err = filepath.Rel(folder, path)
		e.code, e.report = runs(t, "import", "kro", path, "-o", e.folder)
		e.report = strings.ReplaceAll(e.report, path, e.file)
		if crds, none := os.ReadFile(filepath.Join(e.folder, "crd.yaml")); none == nil {
			e.crd = crdName.FindStringSubmatch(string(crds))[1]
		}
		all = append(all, e)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		args := []string{"validate", "--strict", "-f", filepath.Join(e.folder, "rules.yaml")}
		args = append(args, crdsBeside(e, all)...)
		for _, flag := range allowedKind.FindAllString(e.report, -1) {
			args = append(args, strings.Fields(flag)...)
		}
		if code, text := runs(t, args...); code != 0 {
			e.invalid = text
		}
	}
	return all
}

// crdsBeside returns flags with the CRDs of an example and of the others in its folder, each
// kind once.
func crdsBeside(e *importedExample, all []*importedExample) (flags []string) {
	example := func(file string) string { return strings.Join(strings.SplitN(file, "/", 3)[:2], "/") }
	var names []string
	for _, other := range slices.Concat([]*importedExample{e}, all) {
		if example(other.file) != example(e.file) || other.crd == "" || slices.Contains(names, other.crd) {
			continue
		}
		names = append(names, other.crd)
		flags = append(flags, "--crd", filepath.Join(other.folder, "crd.yaml"))
	}
	return flags
}

// runs runs reconcel, and returns its exit code and all that it prints.
func runs(t *testing.T, args ...string) (int, string) {
	t.Helper()
	out, err := exec.Command("reconcel", args...).CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	} else if err != nil {
		return failed.ExitCode(), string(out)
	}
	return 0, string(out)
}
