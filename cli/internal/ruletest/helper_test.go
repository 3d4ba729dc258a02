package ruletest_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
)

var update = flag.Bool("update", false, "rewrite the expected reports in testdata")

// read parses the objects in a file.
func read(path string) (all []*unstructured.Unstructured, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.New("no such file")
	}
	for document := range strings.SplitSeq(string(data), "\n---") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return nil, err
		}
		if o != nil {
			all = append(all, &unstructured.Unstructured{Object: o})
		}
	}
	return all, nil
}

// crdFiles returns the files with the CRDs of all examples and stories.
func crdFiles() ([]string, error) {
	files, err := filepath.Glob("../../../crds/*.yaml")
	if err != nil {
		return nil, err
	}
	more, err := filepath.Glob(stories + "*/crd.yaml")
	return append(files, more...), err
}

// exampleKinds are Kubernetes' own kinds and those of all examples and stories.
var exampleKinds = sync.OnceValues(func() (*sim.Kinds, error) {
	files, err := crdFiles()
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no CRDs: %w", err)
	}
	var crds []map[string]any
	for _, f := range files {
		objects, err := read(f)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			crds = append(crds, o.Object)
		}
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		return nil, err
	}
	return sim.NewKinds(set)
})

// setting returns the setting for tests of examples/foo.
func setting(tb testing.TB) ruletest.Setting {
	tb.Helper()
	const path = examples + "foo/rules.yaml"
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return settingOf(tb, path, string(data))
}

// settingOf is setting for rules given as text.
func settingOf(tb testing.TB, name, text string) ruletest.Setting {
	tb.Helper()
	program, err := rules.Load([]source.File{{Name: name, Data: []byte(text)}})
	if err != nil {
		tb.Fatal(err)
	}
	kinds, err := exampleKinds()
	if err != nil {
		tb.Fatal(err)
	}
	return ruletest.Setting{Program: program, Kinds: kinds, Coverage: &rules.Coverage{}, Read: read, Load: loadRules}
}

// loadRules loads the files that a test names instead of its rules.
func loadRules(paths []string) (*rules.Program, error) {
	var sources []source.File
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source.File{Name: path, Data: data})
	}
	return rules.Load(sources)
}

const (
	examples = "../../../examples/"
	stories  = "testdata/stories/" // rules with tests that pass both in memory and on a real control plane
)

// prepare makes a suite from the text of a test file. Its paths are relative to this
// package's folder.
func prepare(tb testing.TB, s ruletest.Setting, text string) *ruletest.Suite {
	tb.Helper()
	file, err := ruletest.Parse(source.File{Name: "tests.yaml", Data: []byte(text)})
	if err != nil {
		tb.Fatal(err)
	}
	suite, err := file.Prepare(s)
	if err != nil {
		tb.Fatal(err)
	}
	return suite
}

var times = regexp.MustCompile(`[0-9]+ ms`)

func report(t *testing.T, s ruletest.Setting, suite *ruletest.Suite, options ruletest.Options) string {
	t.Helper()
	r := ruletest.Report{Results: ruletest.Run(t.Context(), []*ruletest.Suite{suite}, options)}
	r.Cover(s.Program, s.Coverage)
	var b bytes.Buffer
	r.Write(&b, ruletest.Details{Cases: true})
	return times.ReplaceAllString(b.String(), "0 ms")
}

// golden compares a text with a golden file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-%s +got:\n%s", path, diff)
	}
}

func contents(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: no files: %v", pattern, err)
	}
	return all
}

func decode(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
