package deploy_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reconcel/deploy"
	"reconcel/rules/source"
)

func TestFilesAreNamed(t *testing.T) {
	for _, c := range []struct{ paths, want []string }{
		{[]string{"rules.yaml"}, []string{"rules.yaml"}},
		{[]string{"a/b/rules.yaml", "a/c/other.yml"}, []string{"other.yml", "rules.yaml"}},
		{[]string{"a/b/rules.yaml", "a/c/rules.yaml"}, []string{"b-rules.yaml", "c-rules.yaml"}},
		{[]string{"rules.yaml", "a/rules.yaml"}, []string{"a-rules.yaml", "rules.yaml"}},
		{[]string{"<stdin>"}, []string{"stdin.yaml"}},
		{[]string{"../.hidden", "my rules.txt"}, []string{"hidden.yaml", "myrules.txt.yaml"}},
	} {
		var sources []source.File
		for _, p := range c.paths {
			sources = append(sources, source.File{Name: p})
		}
		files, err := deploy.Files(sources)
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.paths, got, c.want)
		}
	}
}

func TestFilesThatDoNotFit(t *testing.T) {
	big := source.File{Name: "big.yaml", Data: bytes.Repeat([]byte("#"), 1<<20+1)}
	if _, err := deploy.Files([]source.File{big}); err == nil || !strings.Contains(err.Error(), "1048577 bytes") {
		t.Errorf("too big: got %v", err)
	}
	_, err := deploy.Files([]source.File{{Name: "a b.yaml"}, {Name: "ab.yaml"}})
	if err == nil || !strings.Contains(err.Error(), "two files would both be ab.yaml") {
		t.Errorf("same key: got %v", err)
	}
}

// reading returns a rules file that reads these files.
func reading(name string, texts ...source.TextFile) source.File {
	return source.File{Name: name, Data: []byte("# rules\n"), Beside: texts}
}

func TestFilesThatRulesRead(t *testing.T) {
	files, err := deploy.Files([]source.File{
		reading("rules/a.yaml", source.TextFile{Path: "./board.json", Text: "1"}, source.TextFile{Path: "sub/my board.json", Text: "2"}),
		reading("rules/b.yaml", source.TextFile{Path: "board.json", Text: "1"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Key+" "+f.Path+" "+strings.TrimSpace(string(f.Text)))
	}
	want := []string{"a.yaml  # rules", "b.yaml  # rules", "board.json board.json 1", "sub-myboard.json sub/my board.json 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for want, sources := range map[string][]source.File{
		"two files would both be a.txt in the ConfigMap": {reading("x/a.yaml", source.TextFile{Path: "a.txt", Text: "1"}),
			reading("y/b.yaml", source.TextFile{Path: "a.txt", Text: "2"})},
		"have 1048578 bytes, a ConfigMap holds 1048576": {reading("a.yaml", source.TextFile{Path: "a.txt", Text: strings.Repeat("x", 1<<20-6)})},
		"two files would both be c.yaml in the ConfigMap": {
			reading("a.yaml", source.TextFile{Path: "c.yaml", Text: "rules: []"}), reading("c.yaml")},
	} {
		if _, err := deploy.Files(sources); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, complaints := deploy.Objects([]source.File{reading("a.yaml", source.TextFile{Path: "a.txt"})})
	if len(complaints) != 1 || !strings.Contains(complaints[0].Message, "reads the file a.txt, which a Rules object cannot") {
		t.Errorf("as objects: got %v", complaints)
	}
}

// TestPathsOfFiles mounts files where the rules read them.
func TestPathsOfFiles(t *testing.T) {
	rules := exampleRules(t, "../examples/foo/rules.yaml")
	rules.Beside = []source.TextFile{{Path: "sub/b.txt", Text: "b\n"}}
	files, err := deploy.Files([]source.File{rules})
	if err != nil {
		t.Fatal(err)
	}
	permissions := needs(t, deploy.Usual, rules)
	all := options.Manifests(permissions, files)
	flat := func(text []byte) string {
		return regexp.MustCompile(`\n *(- )?(key|path)`).ReplaceAllString(string(text), " $1$2")
	}
	base, err := options.Base(all, files)
	if err != nil {
		t.Fatal(err)
	}
	chart, err := options.Chart(options.Roles(permissions), files)
	if err != nil {
		t.Fatal(err)
	}
	const mounted = "items: - key: rules.yaml path: rules.yaml - key: sub-b.txt path: sub/b.txt"
	for name, c := range map[string]struct{ text, want string }{
		"manifests":     {flat(printed(t, all)), mounted},
		"data":          {string(printed(t, all)), "sub-b.txt: |\n    b\n"},
		"base":          {flat(base["deployment.yaml"]), mounted},
		"file":          {string(base["rules/sub/b.txt"]), "b\n"},
		"kustomization": {string(base["kustomization.yaml"]), "sub-b.txt=rules/sub/b.txt"},
		"chart":         {flat(chart["values.yaml"]), "ruleI" + mounted[1:]},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s: there is no %s in\n%s", name, c.want, c.text)
		}
	}
}

// TestFilesForServerSideApply compares with the annotation of a client-side kubectl apply.
func TestFilesForServerSideApply(t *testing.T) {
	for lines, want := range map[int]bool{1: false, 46_000: false, 48_000: true, 200_000: true} {
		files := []deploy.RulesFile{{Key: "a.yaml", Text: bytes.Repeat([]byte("# x\n"), lines/2)}, {Key: "b.yaml", Text: bytes.Repeat([]byte("\"\"\n"), lines/2)}}
		if got := options.NeedServerSide(files); got != want {
			t.Errorf("%d lines: %v", lines, got)
		}
	}
}
