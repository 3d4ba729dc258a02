package lsp_test

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

func TestHovers(t *testing.T) {
	folder := webs(t)
	for _, c := range []struct{ name, text, want string }{
		{"a field of self", head + "  status:\n    ready: ${self.spec.im‸age}", "self.spec.image: string\n```\n\nThe image to run."},
		{"a name", head + "  status:\n    ready: ${la‸bels}", "labels: map"},
		{"a field of a template", child + "      spec:\n        rep‸licas: 1", "replicas: integer"},
		{"the description of a field of a template", child + "      spec:\n        rep‸licas: 1", "Number of desired pods."},
		{"an object in a template", child + "      spec:\n        sel‸ector: {}", "Label selector for pods."},
		{"a field in a list", child + "      spec: {template: {spec: {containers: [{ima‸ge: x}]}}}", "Container image name."},
		{"a field of a child in an expression", child + "  status:\n    ready: ${deployment.spec.rep‸licas}", "Number of desired pods."},
		{"metadata", child + "  status:\n    ready: ${self.metadata.generat‸ion}", "A sequence number"},
		{"a lookup", child + "  status:\n    ready: ${sett‸ings}", "ConfigMap holds configuration data"},
		{"a field of a CRD", head + "  patch:\n    spec:\n      ima‸ge: x", "image: string\n```\n\nThe image to run."},
		{"a key of the language", child + "    onCha‸nge: keep", "What to do when the rendering changes"},
		{"a function of a namespace", head + "  status:\n    ready: ${yaml.unm‸arshal(self.spec.image).a}", "yaml.unmarshal(string): any"},
		{"another one", head + "  status:\n    ready: ${regex.replace‸(self.spec.image, 'a', 'b')}", "regex.replace(string, string, string): string"},
		{"a method", head + "  status:\n    ready: ${self.spec.image.spl‸it(',')}", "string.split(string): list of string"},
		{"a function", head + "  status:\n    ready: ${mer‸ge({}, {})}", "merge("},
		{"a value of define", defined + "  status:\n    ready: ${regis‸try}", "registry: string\n```\n\n```yaml\nregistry: \"'example.com'\"\n```"},
		{"a function of define", defined + "  status:\n    ready: ${named‸('a')}", "named(app string): map\n```\n\n```yaml\nnamed(app string):\n  app: ${app}\n```"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := at[struct{ Contents struct{ Value string } }](t, "textDocument/hover", folder, c.text).Contents.Value
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, expected %q", got, c.want)
			}
		})
	}
}

func TestFindsDefinitions(t *testing.T) {
	folder := webs(t)
	for _, c := range []struct {
		name, text   string
		line, column int // -1: none
	}{
		{"self", head + "  status:\n    ready: ${se‸lf.spec}", 4, 2},
		{"a let", head + "  status:\n    ready: ${fir‸st.number}", 7, 4},
		{"a let in braces", strings.Replace(head, "first: self.spec.ports[0]", "first: labels‸", 1), 6, 4},
		{"an entry of the same map", strings.Replace(head, "first: self.spec.ports[0]", "db: {host: x, url: \"${ho‸st}\"}", 1), 7, 9},
		{"a lookup", head + "  status:\n    ready: ${settings‸.data}", 9, 9},
		{"a value of define", defined + "  status:\n    ready: ${regis‸try}", 3, 2},
		{"a function of define", defined + "  status:\n    ready: ${named‸('a')}", 4, 2},
		{"a value in a function of define", strings.Replace(defined, "${app}", "${registry‸}", 1), 3, 2},
		{"a child", child + "  status:\n    ready: ${deployment‸}", 11, 8},
		{"after", child + "  - id: other\n    after: [dep‸loyment]", 11, 8},
		{"forEach", head + "  children:\n  - id: each1\n    forEach: [{name: port, in: self.spec.ports}]\n    template:\n      apiVersion: v1\n      kind: Service\n      metadata: {name: \"${po‸rt.name}\"}\n", 12, 21},
		{"forEach as a map", head + "  children:\n  - id: each1\n    forEach: {port: self.spec.ports}\n    template:\n      apiVersion: v1\n      kind: Service\n      metadata: {name: \"${po‸rt.name}\"}\n", 12, 14},
		{"forEach of a condition", head + "  conditions:\n  - forEach: {port: self.spec.ports}\n    type: Port-${po‸rt.number}\n    when: true\n", 11, 14},
		{"a field", head + "  status:\n    ready: ${self.labels‸}", -1, 0},
		{"text", head + "  status:\n    ready: labels‸", -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := at[[]struct {
				Range struct {
					Start struct{ Line, Character int }
				}
			}](t, "textDocument/definition", folder, c.text)
			switch {
			case c.line < 0 && len(got) == 0:
			case len(got) != 1 || got[0].Range.Start.Line != c.line || got[0].Range.Start.Character != c.column:
				t.Errorf("got %+v, expected %d:%d", got, c.line, c.column)
			}
		})
	}
}

const flawed = child + `      spec:
        replcas: 1
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            containers:
            - {name: web, image: "${slef.spec.image}"}
  status:
    ready: ${self.spec.replcas}
`

// TestDiagnosticsAreThoseOfValidate compares the server with the judgement of all commands.
func TestDiagnosticsAreThoseOfValidate(t *testing.T) {
	folder := webs(t)
	c := open(t, folder, flawed)
	got := c.diagnostics(c.uri(folder))
	kinds, err := offline.ReadKinds(files.Reader{}, []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Of(rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(flawed)}}), kinds.Set, judge.Policy{})
	want := append(v.Errors, v.Warnings...)
	if len(want) < 3 || len(got) != len(want) {
		t.Fatalf("got %d findings, expected %d: %v", len(got), len(want), want)
	}
	for _, e := range want {
		found := false
		for _, f := range got {
			found = found || f.Range.Start.Line == e.Pos.Line-1 && f.Range.Start.Character == e.Pos.Column-1 && strings.HasPrefix(f.Message, e.Message) && f.Code == e.Check
		}
		if !found {
			t.Errorf("not found: %v", e)
		}
	}
}

// TestFixes applies each quick fix, and judges the result.
func TestFixes(t *testing.T) {
	folder := webs(t)
	fix := func(t *testing.T, text, title string) string {
		t.Helper()
		c := open(t, folder, text)
		c.diagnostics(c.uri(folder))
		all := decode[[]struct {
			Title string
			Edit  struct {
				Changes map[string][]struct {
					Range   struct{ Start, End struct{ Line, Character int } }
					NewText string
				}
			}
		}](t, c.call("textDocument/codeAction", object{"textDocument": object{"uri": c.uri(folder)}, "context": object{},
			"range": object{"start": object{"line": 0, "character": 0}, "end": object{"line": 100, "character": 0}}}))
		var titles []string
		for _, a := range all {
			titles = append(titles, a.Title)
			if a.Title != title {
				continue
			}
			e := a.Edit.Changes[c.uri(folder)][0]
			lines := strings.SplitAfter(text, "\n")
			before := strings.Join(lines[:e.Range.Start.Line], "") + lines[e.Range.Start.Line][:e.Range.Start.Character]
			after := lines[e.Range.End.Line][e.Range.End.Character:] + strings.Join(lines[e.Range.End.Line+1:], "")
			return before + e.NewText + after
		}
		t.Fatalf("no fix %q, only %q", title, titles)
		return ""
	}
	for _, c := range []struct{ name, text, title, want string }{
		{"a field of a template", child + "      spec: {replcas: 1}\n", "Change to replicas", "spec: {replicas: 1}"},
		{"a name", head + "  status:\n    ready: ${slef.spec.replicas}\n", "Change to self", "${self.spec.replicas}"},
		{"a field in an expression", head + "  status:\n    ready: ${self.spec.replcas}\n", "Change to replicas", "${self.spec.replicas}"},
		{"a key of the language", child + "    onChnge: keep\n", "Change to onChange", "    onChange: keep"},
		{"a value", child + "    onChange: kep\n", "Change to keep", "onChange: keep\n"},
		{"text that looks like a number", strings.Replace(child, "metadata: {name", "metadata: {labels: {v: 1}, name", 1), "Write '1'", "labels: {v: '1'}, name"},
		{"a field of metadata", head + "  status:\n    ready: ${self.name}\n", "Change to metadata.name", "${self.metadata.name}"},
		{"a key that is forbidden", child + "      status: {}\n", "Remove status", "metadata.name}\"}\n"},
		{"a warning", strings.Replace(child, "${self.metadata.name}\"}\n", "web\"}\n", 2), "Silence literal-name here", "# reconcel:ignore literal-name\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := fix(t, c.text, c.title); !strings.Contains(got, c.want) {
				t.Errorf("got\n%s", got)
			}
		})
	}
}

// TestReadsChangedCRDs changes a CRD beside an open file.
func TestReadsChangedCRDs(t *testing.T) {
	folder := webs(t)
	text := head + "  status:\n    color: red\n"
	c := open(t, folder, text)
	if got := c.diagnostics(c.uri(folder)); len(got) != 1 {
		t.Fatalf("got %v, expected an unknown field", got)
	}
	path := filepath.Join(folder, "web-crd.yaml")
	crd, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(crd string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(crd), 0o600); err != nil {
			t.Fatal(err)
		}
		c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": "file://" + path, "type": 2}}})
	}
	write(strings.Replace(string(crd), "ready: {type: integer}", "color: {type: string}\n              ready: {type: integer}", 1))
	if got := c.diagnostics(c.uri(folder)); len(got) != 0 {
		t.Errorf("got %v with the new CRD", got)
	}
	write(strings.Replace(string(crd), "scope: Namespaced", "scope: Everywhere", 1))
	if got := c.diagnostics("file://" + path); len(got) != 1 {
		t.Errorf("got %v for the wrong CRD, expected a flaw", got)
	}
}

// TestFilesBesideRules judges rules again when a file that they read has appeared.
func TestFilesBesideRules(t *testing.T) {
	folder := webs(t)
	c := open(t, folder, head+"  children:\n  - {id: a, template: {apiVersion: v1, kind: ConfigMap, "+
		"metadata: {name: \"${self.metadata.name}\"}, data: {url: \"${file('url.txt')}\"}}}\n")
	got := c.diagnostics(c.uri(folder))
	if len(got) != 1 || !strings.Contains(got[0].Message, `file("url.txt"): there is no such file in the folder of the rules`) {
		t.Errorf("without the file: %+v", got)
	}
	path := filepath.Join(folder, "url.txt")
	if err := os.WriteFile(path, []byte("https://example.com"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", object{"changes": []object{{"uri": "file://" + path, "type": 1}}})
	if got := c.diagnostics(c.uri(folder)); len(got) != 0 {
		t.Errorf("with the file: %+v", got)
	}
}
