package playground_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"reconcel/cli/internal/rendered"
	"reconcel/cli/internal/timeline"
	"reconcel/cli/playground"
)

func play(t *testing.T, example string, q playground.Request) *timeline.Timeline {
	t.Helper()
	q.Part, q.Project = playground.Play, project(t, example)
	a := respond(t, q)
	if a.Timeline == nil || a.Timeline.Problem != "" || a.Notes != "" {
		t.Fatalf("no timeline: %+v", a)
	}
	return a.Timeline
}

// project returns the files of an example, with one resource.
func project(t *testing.T, example string) playground.Project {
	t.Helper()
	p := playground.Project{Files: map[string]string{}, Rules: []string{"rules.yaml"}, Resources: []string{"resource.yaml"}, CRDs: []string{"crd.yaml"}}
	paths := map[string]map[string]string{
		"foo":    {"rules.yaml": "examples/foo/rules.yaml", "resource.yaml": "examples/foo/foo.yaml", "crd.yaml": "crds/samplecontroller.k8s.io_foos.yaml"},
		"webapp": {"rules.yaml": "examples/webapp/rules.yaml", "resource.yaml": "examples/webapp/shop.yaml", "crd.yaml": "crds/platform.example.com_webapps.yaml"},
	}
	for name, path := range paths[example] {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		p.Files[name] = string(text)
	}
	return p
}

func respond(t *testing.T, q playground.Request) (a playground.Answer) {
	t.Helper()
	request, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	out, err := playground.Respond(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// told returns the steps in short lines.
func told(t *timeline.Timeline) (lines []string) {
	for _, s := range t.Steps {
		lines = append(lines, s.By+" "+s.Verb+" "+s.Object.Kind)
	}
	return lines
}

// inOrder reports whether all lines occur, in this order.
func inOrder(lines []string, want ...string) bool {
	for _, line := range lines {
		if len(want) > 0 && line == want[0] {
			want = want[1:]
		}
	}
	return len(want) == 0
}

func TestObjectsAppearOverTime(t *testing.T) {
	got := play(t, "webapp", playground.Request{})
	if !inOrder(told(got), "you created WebApp", "reconcel created Deployment", "reconcel created Ingress", "Kubernetes configured Deployment", "reconcel configured WebApp") {
		t.Errorf("the steps are\n%s", strings.Join(told(got), "\n"))
	}
	first := slices.IndexFunc(got.Steps, func(s timeline.Step) bool { return s.By == "Kubernetes" })
	if at := got.Steps[first].Milliseconds; at != 3000 {
		t.Errorf("the first object is ready after %d ms", at)
	}
	if last := got.Steps[len(got.Steps)-1]; last.Object.Kind != "WebApp" || last.State != rendered.Ready {
		t.Errorf("at the end, %s %s is not ready: %s", last.Object.Kind, last.Object.Name, last.Message)
	}
	if got.Milliseconds < 60_000 {
		t.Errorf("only %d ms were played", got.Milliseconds)
	}
}

func TestADeletedChildComesBack(t *testing.T) {
	deployment := timeline.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "example-foo"}
	got := play(t, "foo", playground.Request{Actions: []timeline.Action{{Milliseconds: 10_000, Verb: timeline.Delete, Object: deployment}}})
	if !inOrder(told(got), "you created Foo", "reconcel created Deployment", "you deleted Deployment", "reconcel created Deployment", "Kubernetes configured Deployment", "reconcel configured Foo") {
		t.Errorf("the steps are\n%s", strings.Join(told(got), "\n"))
	}
}

// The page shows the next step after a user acts. The steps before it stay the same.
func TestAnActionKeepsWhatWasBefore(t *testing.T) {
	before := play(t, "foo", playground.Request{})
	last := before.Steps[len(before.Steps)-1]
	foo := timeline.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "example-foo"}
	after := play(t, "foo", playground.Request{Actions: []timeline.Action{{Milliseconds: last.Milliseconds, Verb: timeline.Delete, Object: foo}}})
	n := len(before.Steps)
	if len(after.Steps) <= n || !reflect.DeepEqual(before.Steps, after.Steps[:n]) || after.Steps[n].By != "you" {
		t.Errorf("before\n%s\nafter\n%s", strings.Join(told(before), "\n"), strings.Join(told(after), "\n"))
	}
}

func TestAChangedChildIsRestored(t *testing.T) {
	deployment := timeline.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "example-foo"}
	got := play(t, "foo", playground.Request{Actions: []timeline.Action{{Milliseconds: 10_000, Verb: timeline.Change, Object: deployment}}})
	for by, want := range map[string]string{"you": "spec.replicas: 1 → 2", "reconcel": "spec.replicas: 2 → 1"} {
		if !slices.ContainsFunc(got.Steps, func(s timeline.Step) bool {
			return s.By == by && s.Milliseconds >= 10_000 && slices.Contains(s.Fields, want)
		}) {
			t.Errorf("there is no step in which %s changed %s:\n%s", by, want, strings.Join(told(got), "\n"))
		}
	}
}

func TestADeletedResourceTakesItsChildren(t *testing.T) {
	foo := timeline.Object{APIVersion: "samplecontroller.k8s.io/v1alpha1", Kind: "Foo", Namespace: "default", Name: "example-foo"}
	got := play(t, "foo", playground.Request{Actions: []timeline.Action{{Milliseconds: 10_000, Verb: timeline.Delete, Object: foo}}})
	exists := map[timeline.Object]bool{}
	for _, s := range got.Steps {
		exists[s.Object] = s.Text != ""
	}
	for object, there := range exists {
		if there && object.Kind != "Namespace" {
			t.Errorf("%s is still there:\n%s", object, strings.Join(told(got), "\n"))
		}
	}
}

func TestTimePasses(t *testing.T) {
	if got := play(t, "foo", playground.Request{Milliseconds: 3_600_000}); got.Milliseconds < 3_600_000 {
		t.Errorf("only %d ms were played", got.Milliseconds)
	}
}

// states returns the states of an object over time, each once, with the first message of each.
func states(t *timeline.Timeline, kind string) (all []string) {
	last := rendered.State("")
	for _, s := range t.Steps {
		if s.Object.Kind == kind && s.State != last {
			all = append(all, s.Finding.String())
			last = s.State
		}
	}
	return all
}

// A new resource is not ready before reconcel has seen it, although it has no status yet.
func TestAPrimaryWaitsAndBecomesReady(t *testing.T) {
	got := play(t, "foo", playground.Request{})
	for kind, want := range map[string][]string{
		"Foo":        {"waiting: reconcel has not written conditions yet", "ready: all children are up to date and ready"},
		"Deployment": {"waiting: 0 of 1 updated", "ready"},
	} {
		if got := states(got, kind); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

func TestAPrimaryThatFailsIsNotCalledWaiting(t *testing.T) {
	p := project(t, "foo")
	p.Files["resource.yaml"] = strings.ReplaceAll(p.Files["resource.yaml"], "deploymentName: example-foo", `deploymentName: ""`)
	got := respond(t, playground.Request{Part: playground.Play, Project: p})
	want := []string{"waiting: reconcel has not written conditions yet", "failed: spec.deploymentName must be set"}
	if got := states(got.Timeline, "Foo"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	drawn := respond(t, playground.Request{Part: playground.Render, Project: p})
	if len(drawn.Failures) != 1 || !strings.Contains(drawn.Notes, drawn.Failures[0]) || !strings.Contains(drawn.Failures[0], "spec.deploymentName must be set") {
		t.Errorf("failures %q of the notes %q", drawn.Failures, drawn.Notes)
	}
}

// A kind of Kubernetes itself has no conditions of reconcel. Its own status says whether it is ready.
func TestABuiltInPrimaryHasTheStateOfItsStatus(t *testing.T) {
	p := playground.Project{Rules: []string{"rules.yaml"}, Resources: []string{"resource.yaml"}, Files: map[string]string{
		"resource.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"rules.yaml": `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: copy
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {no: "yes"}}}
  children:
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}}
`}}
	got := respond(t, playground.Request{Part: playground.Play, Project: p})
	if got := states(got.Timeline, "ConfigMap"); !slices.Equal(got, []string{"ready"}) {
		t.Errorf("got %q", got)
	}
}

func TestWhatTheRulesLeaveOutIsNoFailure(t *testing.T) {
	p := project(t, "webapp")
	text, err := os.ReadFile("../../examples/webapp/internal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.Files["resource.yaml"] = string(text)
	got := respond(t, playground.Request{Part: playground.Render, Project: p})
	if !strings.Contains(got.Notes, "excluded") || len(got.Failures) != 0 {
		t.Errorf("notes %q, failures %q", got.Notes, got.Failures)
	}
}
