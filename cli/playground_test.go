package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reconcel/cli/internal/graph"
	"reconcel/cli/internal/rendered"
	"reconcel/cli/internal/timeline"
	"reconcel/cli/playground"
	"reconcel/test/race"
)

// TestPlaygroundAnswersAsCommands compares, for every example and byte for byte, what the
// page shows with what the commands print.
func TestPlaygroundAnswersAsCommands(t *testing.T) {
	race.Skip(t)
	crds, err := filepath.Glob("../crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range exampleProjects(t) {
		t.Run(name, func(t *testing.T) {
			p.CRDs = crds
			agree(t, p)
		})
	}
}

// The page opens with what happens over time. No example may seem to be broken there.
func TestPlaygroundExamplesBecomeReady(t *testing.T) {
	race.Skip(t)
	crds, err := filepath.Glob("../crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range exampleProjects(t) {
		t.Run(name, func(t *testing.T) {
			p.CRDs = crds
			p.Files = contents(t, p)
			got := respond(t, playground.Request{Part: playground.Play, Project: p}).Timeline
			if got == nil || got.Problem != "" {
				t.Fatalf("no timeline to its end: %+v", got)
			}
			last := map[timeline.Object]timeline.Step{}
			for _, s := range got.Steps {
				last[s.Object] = s
			}
			for _, s := range last {
				if s.State != rendered.Ready && s.Verb != "deleted" {
					t.Errorf("at the end, %s is %s", s.Object, s.Finding)
				}
			}
		})
	}
}

func TestPlaygroundComplainsAsCommands(t *testing.T) {
	for name, texts := range map[string][2]string{ // rules and resources
		"not YAML":            {"rules: [", "kind: Foo"},
		"an unknown key":      {"apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: foo\n  fro: {apiVersion: v1, kind: ConfigMap}\n", ""},
		"a wrong type":        {mapRule + "      spec: {replicas: \"${self.metadata.name}\"}\n", ""},
		"a broken resource":   {mapRule, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n"},
		"an unknown resource": {mapRule, "apiVersion: v1\nkind: Sceret\nmetadata: {name: a}\n"},
		"a resource twice":    {mapRule, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for i, file := range []string{"rules.yaml", "resources.yaml"} {
				if err := os.WriteFile(file, []byte(texts[i]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			agree(t, playground.Project{Rules: []string{"rules.yaml"}, Resources: []string{"resources.yaml"}})
		})
	}
}

const mapRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: web
  for: {apiVersion: v1, kind: ConfigMap}
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
`

// agree compares the answers about files with the output of commands.
func agree(t *testing.T, p playground.Project) {
	t.Helper()
	p.Files = contents(t, p)
	checked := respond(t, playground.Request{Part: playground.Check, Project: p})
	rules := slices.Concat(repeated("--rules", p.Rules), repeated("--crd", p.CRDs))
	same(t, "validate", checked.Report, command(slices.Concat([]string{"validate"}, rules)))
	given := slices.Concat(rules, repeated("--observed", p.Observed), repeated("--resources", p.Resources))
	rendered := respond(t, playground.Request{Part: playground.Render, Project: p})
	out := command(slices.Concat([]string{"render"}, given))
	same(t, "render", rendered.Result, out)
	if strings.Contains(checked.Report, " ok\n") { // render repeats why rules are invalid, and the page does not.
		same(t, "notes of render", rendered.Notes, printed{out.stderr, ""})
	}
	drawn := respond(t, playground.Request{Part: playground.Graph, Project: p})
	switch {
	case len(drawn.Graph) == 0:
	case drawn.Graph[0].Nodes[0].State != "": // the states of one resource
		same(t, "graph", graph.Mermaid(drawn.Graph), command(slices.Concat([]string{"graph"}, given)))
	default:
		same(t, "graph", graph.Mermaid(drawn.Graph), command(slices.Concat([]string{"graph"}, rules)))
	}
}

// contents returns the files of a project.
func contents(t *testing.T, p playground.Project) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range slices.Concat(p.Rules, p.Resources, p.Observed, p.CRDs) {
		all[path] = readText(t, path)
	}
	return all
}

type printed struct{ stdout, stderr string }

// command runs a command as people do.
func command(args []string) printed {
	var stdout, stderr bytes.Buffer
	(&app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}).main(args)
	return printed{stdout.String(), stderr.String()}
}

func same(t *testing.T, what, got string, want printed) {
	t.Helper()
	if got != want.stdout {
		t.Errorf("%s: the page shows\n%s\nthe command prints\n%s", what, got, want.stdout)
	}
}

func respond(t *testing.T, q playground.Request) (a playground.Answer) {
	t.Helper()
	request, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := playground.Respond(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func repeated(flag string, paths []string) (args []string) {
	for _, path := range paths {
		args = append(args, flag, path)
	}
	return args
}

var (
	exampleNames = regexp.MustCompile(`(?s)\nEXAMPLES := (.*?[^\\])\n`)
	exampleFiles = regexp.MustCompile(`(?m)^(RESOURCES|OBSERVED)_(\S+) := (.*)$`)
)

// exampleProjects returns the examples by name, with the files that the Makefile renders.
func exampleProjects(t *testing.T) map[string]playground.Project {
	t.Helper()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]playground.Project{}
	for name := range strings.FieldsSeq(strings.ReplaceAll(string(exampleNames.FindSubmatch(text)[1]), "\\\n", " ")) {
		p := playground.Project{Rules: []string{"../examples/" + name + "/rules.yaml"}}
		if observed := "../examples/" + name + "/observed.yaml"; exists(observed) {
			p.Observed = []string{observed}
		}
		all[name] = p
	}
	for _, m := range exampleFiles.FindAllStringSubmatch(string(text), -1) {
		p := all[m[2]]
		for file := range strings.FieldsSeq(m[3]) {
			path := "../examples/" + m[2] + "/" + file
			if m[1] == "RESOURCES" {
				p.Resources = append(p.Resources, path)
			} else {
				p.Observed = append([]string{path}, p.Observed...)
			}
		}
		all[m[2]] = p
	}
	if rules, err := filepath.Glob("../examples/*/rules.yaml"); err != nil || len(rules) != len(all) {
		t.Fatalf("%d examples, %d in the Makefile: %v", len(rules), len(all), slices.Sorted(maps.Keys(all)))
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
