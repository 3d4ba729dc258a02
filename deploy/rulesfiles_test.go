package deploy_test

import (
	"bytes"
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
	if err == nil || !strings.Contains(err.Error(), "two rules files would both be ab.yaml") {
		t.Errorf("same key: got %v", err)
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
