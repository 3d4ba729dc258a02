package format

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"reconcel/cli/internal/ruletest"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// TestText lays out small files.
func TestText(t *testing.T) {
	for _, c := range []struct{ name, given, want string }{
		{"order", "kind: Rules\nrules:\n  - children:\n      - template:\n          kind: ConfigMap\n          apiVersion: v1\n          data: {}\n          metadata:\n            labels: {}\n            name: a\n        id: a\n    for:\n      kind: Web\n      apiVersion: example.com/v1\n    name: web\napiVersion: reconcel.dev/v1alpha1\n",
			"apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: web\n  for:\n    apiVersion: example.com/v1\n    kind: Web\n  children:\n  - id: a\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        name: a\n        labels: {}\n      data: {}\n"},
		{"comments", "# the file\nkind: Rules # the kind\n# above apiVersion\napiVersion: reconcel.dev/v1alpha1\n\n# above rules\nrules: # behind rules\n\n# above the first\n-   # behind a dash\n    for: # behind for\n      # above kind\n      kind: Web # behind kind\n      # above apiVersion\n      apiVersion: example.com/v1\n      # below for\n    # above name\n    name: web\n    # below the first rule\n\n\n\n# above the second\n- name: two\n# the end\n",
			"# the file\n# above apiVersion\napiVersion: reconcel.dev/v1alpha1\nkind: Rules # the kind\n\n# above rules\nrules: # behind rules\n# above the first\n- # behind a dash\n  # above name\n  name: web\n  for: # behind for\n    # above apiVersion\n    apiVersion: example.com/v1\n    # above kind\n    kind: Web # behind kind\n    # below for\n  # below the first rule\n\n# above the second\n- name: two\n# the end\n"},
		{"texts", "rules:\n    - name: web\n      status:\n          a: |\n              x\n                # no comment\n\n              y\n          # a comment\n          b: >-\n           z\n          c: \"x\n\n            # no comment\n            y\"\n          d: ['a # b', \"c\n            d\", e#f, # a comment\n            g]\n          e: plain\n            text # a comment\n          f: |+\n            x\n\n          g: |2\n              y\n      let:\n          x: y\n",
			"rules:\n- name: web\n  let:\n    x: y\n  status:\n    a: |\n        x\n          # no comment\n\n        y\n    # a comment\n    b: >-\n     z\n    c: \"x\n\n      # no comment\n      y\"\n    d: ['a # b', \"c\n      d\", e#f, # a comment\n      g]\n    e: plain\n      text # a comment\n    f: |+\n      x\n\n    g: |2\n        y\n"},
		{"quotes", "rules:\n- name: web\n  status: {a: yes, b: 2026-01-02, c: no way, d: 'on', off: on}\n", "rules:\n- name: web\n  status: {a: \"yes\", b: \"2026-01-02\", c: no way, d: 'on', \"off\": \"on\"}\n"},
		{"anchors keep the order", "rules:\n- status: &a\n    x: y\n  let: *a\n  name: web\n", "rules:\n- status: &a\n    x: y\n  let: *a\n  name: web\n"},
		{"documents", "\n---   # one\nkind: Rules\napiVersion: a\n...\n---\n{kind: Rules,\n  apiVersion: b}\n---\n\n\n# nothing\n", "---   # one\napiVersion: a\nkind: Rules\n...\n---\n{kind: Rules,\n  apiVersion: b}\n---\n\n\n# nothing\n"},
		{"lists in lists", "rules:\n- name: web\n  status:\n    a:\n      - - 1\n        - 2\n      -\n        - 3\n      -\n      - null\n", "rules:\n- name: web\n  status:\n    a:\n    - - 1\n      - 2\n    - - 3\n    -\n    - null\n"},
		{"explicit keys", "rules:\n- ? name\n  : web\n  for:\n      kind: x\n- name: a\n", "rules:\n- ? name\n  : web\n  for:\n      kind: x\n- name: a\n"},
		{"line ends", "kind: Rules\r\napiVersion: a\r\n", "apiVersion: a\r\nkind: Rules\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Text([]byte(c.given), syntax.Schema())
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			again, err := Text(got, syntax.Schema())
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time: %v\n%s", err, cmp.Diff(string(got), string(again)))
			}
		})
	}
}

// TestMeaning lays out rules and tests of the repository. The tree of syntax, the
// comments and a second layout are the same.
func TestMeaning(t *testing.T) {
	seen := 0
	for _, file := range everyFile(t) {
		root := syntax.Schema()
		if isTest := strings.HasSuffix(file.Name, "tests.yaml"); isTest {
			root = ruletest.Schema()
		} else if _, err := syntax.Parse([]source.File{file}); err != nil {
			continue
		}
		seen++
		got, err := Text(file.Data, root)
		if err != nil {
			t.Errorf("%s: %v", file.Name, err)
			continue
		}
		if diff := cmp.Diff(tree(file.Data), tree(got)); diff != "" {
			t.Errorf("%s: tree (-before +after)\n%s", file.Name, diff)
		}
		if diff := cmp.Diff(comments(file.Data), comments(got)); diff != "" {
			t.Errorf("%s: comments (-before +after)\n%s", file.Name, diff)
		}
		if again, err := Text(got, root); err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time: %v\n%s", file.Name, err, cmp.Diff(string(got), string(again)))
		}
	}
	if seen < 80 {
		t.Errorf("only %d files", seen)
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// everyFile returns the rules and tests of the examples, of testdata and in the
// documentation.
func everyFile(t *testing.T) (all []source.File) {
	t.Helper()
	for _, pattern := range []string{"examples/*/*.yaml", "rules/*/testdata/*.yaml", "cli/internal/mistakes/testdata/apps/*/rules.yaml", "docs/*.md", "docs/*/*.md", "README.md"} {
		paths, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(path) == ".yaml" {
				all = append(all, source.File{Name: path, Data: data})
			}
			for _, m := range yamlBlock.FindAllSubmatch(data, -1) {
				text := string(m[1])
				if !strings.Contains(text, "apiVersion: reconcel.dev") {
					text = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: a\n  for: {apiVersion: v1, kind: Pod}\n  " + strings.ReplaceAll(text, "\n", "\n  ")
				}
				all = append(all, source.File{Name: path, Data: []byte(text)})
			}
		}
	}
	return all
}

// tree returns the tree of syntax of rules, without positions, and with sorted keys.
func tree(data []byte) string {
	file, _ := syntax.Parse([]source.File{{Name: "a", Data: data}})
	var b strings.Builder
	write(&b, reflect.ValueOf(file))
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	if v.Type() == reflect.TypeFor[source.Digest]() {
		return // The order of keys is part of it.
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			write(b, v.Elem())
		}
	case reflect.Struct:
		switch v.Type() {
		case reflect.TypeFor[source.Pos]():
			return
		case reflect.TypeFor[spec.Schema]():
			text, _ := json.Marshal(v.Addr().Interface()) // It has no value that JSON lacks.
			b.Write(text)
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fmt.Fprintf(b, "%s{", f.Name)
				write(b, v.Field(i))
				b.WriteString("}\n")
			}
		}
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			var item strings.Builder
			write(&item, v.Index(i))
			items[i] = item.String()
		}
		if v.Type() == reflect.TypeFor[[]source.Field]() {
			slices.Sort(items)
		}
		fmt.Fprintf(b, "[%s]", strings.Join(items, ","))
	default:
		fmt.Fprint(b, v)
	}
}

// comments returns what follows the first # of each line, in any order.
func comments(data []byte) (all []string) {
	for line := range strings.Lines(string(data)) {
		if _, comment, found := strings.Cut(line, "#"); found {
			all = append(all, strings.TrimSpace(comment))
		}
	}
	slices.Sort(all)
	return all
}
