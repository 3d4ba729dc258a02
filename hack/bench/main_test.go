package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"reconcel/hack/bench/process"
	"reconcel/hack/bench/report"
	"reconcel/test/devcluster"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"-n", "100,2000", "-rounds", "2", "-page", "page.md"})
	if err != nil || !slices.Equal(o.ns, []int{100, 2000}) || o.rounds != 2 || o.page != "page.md" {
		t.Errorf("got %v, %v", o, err)
	}
	o, err = parse([]string{"-rules", "1,10", "-lookups", "5"})
	if err != nil || !slices.Equal(o.sizes["rules"], []int{1, 10}) || !slices.Equal(o.sizes["lookups"], []int{5}) || len(o.sizes["collections"]) > 0 {
		t.Errorf("got %v, %v", o, err)
	}
	if !o.conditions {
		t.Error("reconcel alone is measured without conditions")
	}
	o, err = parse([]string{"-only", "reconcel,floor", "-conditions", "-n", "5", "-rounds", "1"})
	const same = "-n 5 -rounds 1 -only floor,reconcel -conditions"
	if err != nil || !slices.Equal(o.only, []string{report.Floor, report.Reconcel}) || flagsOf(o) != same {
		t.Errorf("got %v, %v, measured with %q", o, err, flagsOf(o))
	}
	o, err = parse([]string{"-installations", "2", "-n", "5"})
	if err != nil || o.installations != 2 || !slices.Equal(o.only, []string{report.Reconcel}) {
		t.Errorf("got %v, %v", o, err)
	}
	o, err = parse(nil)
	if err != nil || !slices.Equal(o.ns, []int{1000, 10000}) || o.rounds != 3 || o.conditions || o.page != "" ||
		!slices.Equal(o.only, report.Competitors) {
		t.Errorf("got %v, %v without flags", o, err)
	}
}

func TestParseRejectsWhatCannotBeMeasured(t *testing.T) {
	for _, args := range [][]string{
		{"-n", "0"}, {"-n", "1000,x"}, {"-n", ""}, {"-rounds", "0"}, {"-rules", "0"}, {"-lookups", ""}, {"1000"},
		{"-only", "other"}, {"-only", ""}, {"-installations", "1"},
	} {
		if o, err := parse(args); err == nil {
			t.Errorf("%q: got %v, want an error", args, o)
		}
	}
}

func TestRequestName(t *testing.T) {
	for want, r := range map[string]devcluster.Request{
		"get discovery":                      {Verb: "get", URI: "/openapi/v3?hash=1"},
		"patch foos.samplecontroller/status": {Verb: "patch", Group: "samplecontroller", Resource: "foos", Subresource: "status"},
	} {
		if got := requestName(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	all := names(10)
	if got := spread(all, 3); !slices.Equal(got, []string{"foo-00000", "foo-00003", "foo-00006"}) {
		t.Errorf("got %v", got)
	}
	if got := spread(all, 20); !slices.Equal(got, all) {
		t.Errorf("got %v, want every name once", got)
	}
}

// TestRulesHaveTheImage holds the rules against the Deployment that the others create.
func TestRulesHaveTheImage(t *testing.T) {
	text, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := withImage(string(text), secondImage)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(changed, "image: "+secondImage+"\n") || strings.Contains(changed, firstImage) {
		t.Errorf("the image is not changed:\n%s", changed)
	}
	if _, err := withImage(changed, firstImage); err == nil {
		t.Error("rules without the image are no error")
	}
}

func TestConditionsNameTheCommand(t *testing.T) {
	got := conditions("v1.36.3", "-growth "+list([]int{1000, 5000}))
	if !strings.Contains(got, "make bench-cluster BENCH='-growth 1000,5000'") || !strings.Contains(got, "Kubernetes v1.36.3") {
		t.Errorf("got %s", got)
	}
}

func TestRulesHaveTheDeployments(t *testing.T) {
	text, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if one, err := withDeployments(string(text), 1); err != nil || one != string(text) {
		t.Errorf("one Deployment changes the rules: %v\n%s", err, one)
	}
	three, err := withDeployments(string(text), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"- id: deployment\n", "- id: deployment2\n", "- id: deployment3\n", "name: ${self.spec.deploymentName}-3\n", "\n  status:\n"} {
		if strings.Count(three, text) != 1 {
			t.Errorf("want %q once in\n%s", text, three)
		}
	}
	if _, err := withDeployments("rules: []\n", 2); err == nil {
		t.Error("rules without the child are no error")
	}
}

func TestRulesOfScenarios(t *testing.T) {
	text, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]int{
		"rules": {
			"- name: foo-0\n": 1, "- name: foo-2\n": 1, "kind: Deployment\n": 3, "\n  status:\n": 0,
			"\n    kind: Foo\n    when: self.metadata.name.endsWith(\"-r2\")\n": 1,
		},
		"lookups": {
			"\n  lookups:\n  - id: settings\n": 1, "image: ${settings.data.image}\n": 1, firstImage: 0, "\n  status:\n": 1,
		},
		"collections": {
			"  - id: deployment\n    forEach:\n      i: lists.range(3)\n": 1, "name: ${self.spec.deploymentName}-${i}\n": 1, "\n  status:\n": 0,
		},
	} {
		s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
		made, err := s.rules(string(text), 3)
		if err != nil {
			t.Fatal(err)
		}
		for part, times := range want {
			if got := strings.Count(made, part); got != times {
				t.Errorf("%s: %q is there %d times, want %d, in\n%s", name, part, got, times, made)
			}
		}
		if _, err := s.rules("rules: []\n", 3); err == nil {
			t.Errorf("%s: other rules are no error", name)
		}
	}
}

func TestNamesOfScenarios(t *testing.T) {
	foos := foosByRule(100)
	if len(foos) != foosOfRules || foos[0] != "foo-00000-r0" || foos[199] != "foo-00199-r99" {
		t.Errorf("the Foos of 100 rules are %v", foos)
	}
	if got := numbered("foo", 3); !slices.Equal(got, []string{"foo-0", "foo-1", "foo-2"}) {
		t.Errorf("the Deployments of a collection are %v", got)
	}
}

func TestOneRuleChanges(t *testing.T) {
	text, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := withRules(string(text), 3, secondImage)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(changed, secondImage) != 1 || strings.Count(changed, firstImage) != 2 || strings.Index(changed, secondImage) > strings.Index(changed, firstImage) {
		t.Errorf("want the new image in the first rule only:\n%s", changed)
	}
}

func TestEveryCompetitorCanBeMade(t *testing.T) {
	for _, name := range report.Competitors {
		if makers[name] == nil {
			t.Errorf("nothing makes %s", name)
		}
	}
}

// TestCompetitorThatCannotBeMade has a working directory without anything.
func TestCompetitorThatCannotBeMade(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := competitors(t.TempDir(), options{only: []string{report.Metacontroller, report.Kro}})
	for _, text := range []string{metacontrollerVersion, "put metacontroller of the release there", "use -only kro"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestCommandsOfACompetitor(t *testing.T) {
	c := competitor{
		binary: "controller", args: []string{"--workers=16"},
		helpers: []process.Command{{Binary: "webhook", Args: []string{"--listen=here"}}},
	}
	got := c.commands("config", "log")
	want := []process.Command{
		{Binary: "webhook", Args: []string{"--listen=here"}, Log: "log"},
		{Binary: "controller", Args: []string{"--workers=16", "--kubeconfig=config"}, Log: "log"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if c.helpers[0].Log != "" || len(c.args) != 1 {
		t.Errorf("the competitor has changed: %v", c)
	}
}

func TestManifestsAreSplit(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte("---\na: 1\n---\nb: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := splitManifests(file, folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"0-all.yaml": "a: 1", "1-all.yaml": "b: 2\n"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v", name, text, err)
		}
	}
}

func TestGrowthBeginsWithTheSmallest(t *testing.T) {
	want := []size{{1000, 1}, {1000, 3}, {5000, 1}, {5000, 3}}
	if got := growthSizes([]int{5000, 1000}); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
