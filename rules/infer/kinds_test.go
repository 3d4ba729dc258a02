package infer_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"reconcel/rules"
	"reconcel/rules/crd"
	"reconcel/rules/infer"
	"reconcel/rules/schema"
	"reconcel/rules/simpleschema"
	"reconcel/rules/source"
)

var update = flag.Bool("update", false, "write testdata/differences.txt again, with ? for missing reasons")

const (
	root     = "../.."
	apps     = root + "/cli/internal/mistakes/testdata/apps"
	expected = "testdata/differences.txt"
)

// A written is a set of rules with the CRDs that people wrote for them.
type written struct {
	name  string
	rules source.File
	crds  []map[string]any
}

// everyRules returns the rules of all examples and applications with kinds of their own.
func everyRules(t *testing.T) (all []written) {
	t.Helper()
	shared := objects(t, root+"/crds/*.yaml")
	paths, _ := filepath.Glob(root + "/examples/*/rules.yaml")
	more, _ := filepath.Glob(apps + "/*/rules.yaml")
	for _, path := range append(paths, more...) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		w := written{name: filepath.Base(filepath.Dir(path)), rules: source.File{Name: "rules.yaml", Data: data}, crds: shared}
		if strings.HasPrefix(path, apps) {
			w.crds = objects(t, filepath.Dir(path)+"/crd.yaml")
		}
		all = append(all, w)
	}
	return all
}

func objects(t *testing.T, pattern string) (out []map[string]any) {
	t.Helper()
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(data), "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
				t.Fatal(err)
			}
			out = append(out, object)
		}
	}
	return out
}

func (w written) set(t *testing.T) *schema.Set {
	t.Helper()
	set, err := schema.New(schema.Sources{CRDs: w.crds})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (w written) infer(t *testing.T) []*crd.Definition {
	t.Helper()
	loaded := rules.Compile([]source.File{w.rules})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	found, mistakes, err := infer.Kinds(loaded.File, w.set(t))
	if err != nil || len(mistakes) > 0 {
		t.Fatal(err, mistakes)
	}
	return found
}

// TestInferredTypesAreThoseOfCRDs compares the type of every field with that in the CRD that
// people wrote. The golden file has all differences, each with its reason.
func TestInferredTypesAreThoseOfCRDs(t *testing.T) {
	reasons := map[string]string{}
	data, _ := os.ReadFile(expected)
	for line := range strings.Lines(string(data)) {
		difference, reason, _ := strings.Cut(strings.TrimSpace(line), " # ")
		reasons[difference] = reason
	}
	compared := 0
	var out []string
	for _, w := range everyRules(t) {
		for _, d := range w.infer(t) {
			compared++
			inferred := map[string]string{}
			types(inferred, "spec", d.Spec)
			types(inferred, "status", d.Status)
			people := map[string]string{}
			own := w.set(t).Schema(d.GVK)
			for _, part := range []string{"spec", "status"} {
				if p, ok := own.Properties[part]; ok {
					types(people, part, &p)
				}
			}
			paths := maps.Clone(inferred)
			maps.Copy(paths, people)
			for _, path := range slices.Sorted(maps.Keys(paths)) {
				if path == "status.conditions" || strings.HasPrefix(path, "status.conditions[") || inferred[path] == people[path] || below(path, inferred, people) {
					continue
				}
				difference := fmt.Sprintf("%s %s %s: %s, in the CRD %s", w.name, d.GVK.Kind, path, or(inferred[path]), or(people[path]))
				reason := reasons[difference]
				if reason == "" {
					reason = "?"
				}
				out = append(out, difference+" # "+reason)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d kinds are compared", compared)
	}
	text := strings.Join(out, "\n") + "\n"
	if *update {
		if err := os.WriteFile(expected, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != string(data) {
		t.Errorf("the differences are\n%s", text)
	}
	if strings.Contains(text, " # ?") {
		t.Error("there are differences without a reason")
	}
}

func or(name string) string {
	if name == "" {
		return "nothing"
	}
	return name
}

// below reports whether the fields of a parent differ as a whole: only one of them is an
// object with known fields.
func below(path string, a, b map[string]string) bool {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || strings.HasPrefix(path[i:], "[]") {
			if parent := path[:i]; parent != "spec" && parent != "status" && a[parent] != b[parent] {
				return true
			}
		}
	}
	return false
}

// types collects the types of fields by their paths.
func types(to map[string]string, path string, s *spec.Schema) {
	if s == nil {
		return
	}
	open, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	name := simpleschema.TypeName(s)
	switch {
	case s.Items != nil && s.Items.Schema != nil:
		types(to, path+"[]", s.Items.Schema)
		name = "list"
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		types(to, path+"[]", s.AdditionalProperties.Schema)
		name = "map"
	case open && len(s.Properties) == 0:
		name = strings.TrimSpace("open " + name)
	}
	if path != "spec" && path != "status" {
		to[path] = strings.TrimSpace(name + " " + s.Format)
	}
	for field, p := range s.Properties {
		types(to, path+"."+field, &p)
	}
}
