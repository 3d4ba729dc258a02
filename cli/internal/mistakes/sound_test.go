package mistakes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/rules"
	"reconcel/rules/source"
)

const root = "../../.."

// A sound is a rules file without mistakes, and the CRDs of its kinds.
type sound struct {
	name  string // as in the list of mistakes
	rules string // the path of the rules file
	crds  string // the path of the folder or file of the CRDs
}

// allSound returns the rules files of the examples and of the applications.
func allSound(t *testing.T) []sound {
	t.Helper()
	var all []sound
	for _, pattern := range []string{root + "/examples/*/rules.yaml", "testdata/apps/*/rules.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 10 {
			t.Fatal(pattern, paths, err)
		}
		for _, path := range paths {
			s := sound{name: filepath.Base(filepath.Dir(path)), rules: path, crds: filepath.Join(filepath.Dir(path), "crd.yaml")}
			if strings.HasPrefix(path, root) {
				s.crds = root + "/crds"
			}
			all = append(all, s)
		}
	}
	return all
}

// kindsOf returns the kinds that CRDs define.
func kindsOf(t *testing.T, crds string) offline.Kinds {
	t.Helper()
	kinds, err := offline.ReadKinds(files.Reader{}, []string{crds})
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

// judged returns what validate --strict prints about a rules file.
func judged(text string, kinds offline.Kinds) source.Errors {
	return strict(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(text)}}), kinds)
}

func strict(loaded *rules.Loaded, kinds offline.Kinds) source.Errors {
	v := judge.Of(loaded, kinds.Set, judge.Policy{})
	return source.Collect(loaded.Sources, append(v.Errors, v.Warnings...))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSound finds nothing in the examples and in the applications.
func TestSound(t *testing.T) {
	b := newBench(t)
	for name, s := range b.sound {
		if found := judged(b.texts[s.rules], b.kinds[s.crds]); len(found) > 0 {
			t.Errorf("%s:\n%v", name, found)
		}
	}
}
