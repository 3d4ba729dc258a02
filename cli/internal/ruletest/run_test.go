package ruletest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/ruletest"
	"reconcel/sim"
)

// TestFailures compares the whole report for tests that must fail.
func TestFailures(t *testing.T) {
	for _, path := range files(t, "testdata/failing/*.yaml") {
		t.Run(path, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := setting(t)
			got := report(t, s, prepare(t, s, string(data)), ruletest.Options{})
			golden(t, strings.TrimSuffix(path, ".yaml")+".txt", got)
		})
	}
}

// TestExamplesPass runs the tests of one example through this package alone.
func TestExamplesPass(t *testing.T) {
	s := setting(t)
	data, err := os.ReadFile(examples + "foo/tests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "foo.yaml", examples+"foo/foo.yaml")
	if got := report(t, s, prepare(t, s, text), ruletest.Options{}); strings.Contains(got, "FAIL") {
		t.Error(got)
	}
}

const oneFoo = `{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: foo}, spec: {deploymentName: foo}}`

func TestOnlySomeCases(t *testing.T) {
	s := setting(t)
	suite := prepare(t, s, "cases:\n- {name: one thing, steps: []}\n- {name: another, steps: [{then: {count: {Pod: 1}}}]}\n")
	only := func(pattern string) string {
		return report(t, s, suite, ruletest.Options{Only: func(c *ruletest.Case) bool { return strings.Contains(c.Name, pattern) }})
	}
	if got := only("one thing"); !strings.Contains(got, "ok    tests.yaml  1 case  ") || strings.Contains(got, "another") {
		t.Errorf("the first one alone:\n%s", got)
	}
	if got := only("nothing"); !strings.Contains(got, "ok    tests.yaml  no cases to run\n") {
		t.Errorf("none of them:\n%s", got)
	}
}

func TestCoverage(t *testing.T) {
	s := setting(t)
	if got := report(t, s, prepare(t, s, "cases: [{name: nothing, steps: []}]"), ruletest.Options{}); !strings.Contains(got, "coverage: 0 of 5 expressions\n") {
		t.Errorf("without a Foo:\n%s", got)
	}
	text := "cases: [{name: a Foo, given: " + oneFoo + ", steps: [{}]}]"
	if got := report(t, s, prepare(t, s, text), ruletest.Options{}); !strings.Contains(got, "coverage: 5 of 5 expressions\n") {
		t.Errorf("with a Foo:\n%s", got)
	}
}

// TestScaleSubresource patches a Deployment as kubectl scale does.
func TestScaleSubresource(t *testing.T) {
	s := setting(t)
	text := "cases:\n- name: scaled\n  given: " + oneFoo + "\n  steps:\n  - {}\n" +
		"  - when: {patch: Deployment/foo, subresource: scale, merge: {spec: {replicas: 7}}}\n    then: {events: Repaired}\n" +
		"  - when: {patch: Foo/foo, subresource: scale, merge: {spec: {replicas: 7}}}\n"
	got := report(t, s, prepare(t, s, text), ruletest.Options{})
	if strings.Contains(got, "Repaired") || !strings.Contains(got, "patch Foo/default/foo: ") {
		t.Errorf("a Deployment has the subresource and a Foo has not:\n%s", got)
	}
}

// TestSnapshot writes a snapshot, compares with it, and reports differences.
func TestSnapshot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "foo.yaml")
	s := setting(t)
	play := func(replicas string, options ruletest.Options) string {
		foo := strings.Replace(oneFoo, "deploymentName: foo", "deploymentName: foo, replicas: "+replicas, 1)
		return report(t, s, prepare(t, s, "cases: [{name: a, given: "+foo+", steps: [{then: {snapshot: "+file+"}}]}]"), options)
	}
	if got := play("1", ruletest.Options{}); !strings.Contains(got, "foo.yaml: write it with --update") {
		t.Errorf("there is no snapshot:\n%s", got)
	}
	if got := play("1", ruletest.Options{Update: true}); strings.Contains(got, "FAIL") {
		t.Errorf("written:\n%s", got)
	}
	if got := play("1", ruletest.Options{}); strings.Contains(got, "FAIL") {
		t.Errorf("compared:\n%s", got)
	}
	if got := play("2", ruletest.Options{}); !strings.Contains(got, "-  replicas: 1\n") || !strings.Contains(got, "+  replicas: 2\n") {
		t.Errorf("not the same:\n%s", got)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime", "reconcel.dev/applied"} {
		if strings.Contains(string(data), word) {
			t.Errorf("the snapshot holds %s:\n%s", word, data)
		}
	}
}

// actual is a place without the features of an in-memory cluster.
type actual struct{ ruletest.Place }

func TestAPlaceThatIsReal(t *testing.T) {
	s := setting(t)
	options := ruletest.Options{Place: func(s ruletest.Setting) (ruletest.Place, error) {
		m, err := ruletest.InMemory(s)
		return actual{m}, err
	}}
	text := "cases:\n- name: possible\n  given: " + oneFoo + "\n  steps:\n  - when: {ready: Deployment/foo}\n    then: {conditions: {Ready: 'True'}, events: Synced}\n"
	for _, step := range []string{"when: {advance: 1s}", "when: {restart: true}", "when: {fail: {verb: apply}}", "then: {writes: 0}"} {
		text += "- name: '" + step + "'\n  steps:\n  - " + step + "\n"
	}
	suite := prepare(t, s, text)
	got := report(t, s, suite, options)
	if !strings.Contains(got, "--- PASS: tests.yaml:2:3: possible") {
		t.Errorf("this needs nothing special:\n%s", got)
	}
	if n := strings.Count(got, ": only a cluster in memory can do that"); n != 4 {
		t.Errorf("expected four refusals:\n%s", got)
	}
	options.Only = func(c *ruletest.Case) bool { return !c.NeedsMemory() }
	if got := report(t, s, suite, options); strings.Contains(got, "FAIL") || !strings.Contains(got, "  1 case  ") {
		t.Errorf("without the cases that cannot be played there:\n%s", got)
	}
}

var deploymentKind = runtimeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// TestARestartThatWrites has a place whose controller is not idempotent.
func TestARestartThatWrites(t *testing.T) {
	s := setting(t)
	options := ruletest.Options{Place: func(s ruletest.Setting) (ruletest.Place, error) {
		m, err := ruletest.InMemory(s)
		if err != nil {
			return nil, err
		}
		return &restarted{Memory: m.(ruletest.Memory)}, nil
	}}
	got := report(t, s, prepare(t, s, "cases: [{name: a, given: "+oneFoo+", steps: []}]"), options)
	want := "tests.yaml:1:9: nothing has changed, but a restarted controller writes:\n      apply Deployment/default/foo"
	if !strings.Contains(got, want) {
		t.Errorf("expected %q in:\n%s", want, got)
	}
}

// restarted is a place with one more write after each restart.
type restarted struct {
	ruletest.Memory
	n int
}

func (r *restarted) Restart(ctx context.Context) error {
	r.n++
	return r.Memory.Restart(ctx)
}

func (r *restarted) Writes() []sim.Write {
	all := r.Memory.Writes()
	for range r.n {
		all = append(all, sim.Write{By: "reconcel", Verb: "apply", Kind: deploymentKind, Namespace: "default", Name: "foo", Changed: true})
	}
	return all
}

// TestRestlessRules has rules whose status counts its own writes.
func TestRestlessRules(t *testing.T) {
	s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: counter
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  status:
    availableReplicas: ${self.?status.?availableReplicas.orValue(0) + 1}
`)
	got := report(t, s, prepare(t, s, "cases: [{name: a, given: "+oneFoo+", steps: [{}]}]"), ruletest.Options{})
	if want := "step 1: the controller does not converge: Foo/default/foo (status) was written"; !strings.Contains(got, want) {
		t.Errorf("expected %q in:\n%s", want, got)
	}
}

// TestStatusThatWaits has a status that reads a field without a value.
func TestStatusThatWaits(t *testing.T) {
	s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: waiter
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: text
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: text}}
  status:
    availableReplicas: ${int(text.data.size)}
`)
	got := report(t, s, prepare(t, s, "cases: [{name: a, given: "+oneFoo+", steps: [{then: {status: {availableReplicas: 1}}}]}]"), ruletest.Options{})
	if want := "(a field is omitted while its expression waits for something; -v lists expressions that never ran)"; !strings.Contains(got, want) {
		t.Errorf("expected %q in:\n%s", want, got)
	}
}

// TestKeptChildrenMayStay deletes a primary with an orphaned child, and a child that
// finalize creates.
func TestKeptChildrenMayStay(t *testing.T) {
	s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: keeper
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: kept
    onDelete: orphan
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}
  finalize:
  - id: last
    timeout: 1h
    readyWhen: child.data.done == "yes"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {done: "no"}}
`)
	got := report(t, s, prepare(t, s, `
cases:
- name: the end is waited for
  given: `+oneFoo+`
  steps:
  - when: {delete: Foo/foo}
    then: {count: {ConfigMap: 2}}
`), ruletest.Options{})
	if strings.Contains(got, "FAIL") {
		t.Error(got)
	}
}

// TestADeletedOwnerTakesItsObjectsWithIt deletes what the API server orphans the objects of, unless a client says
// otherwise. kubectl does.
func TestADeletedOwnerTakesItsObjectsWithIt(t *testing.T) {
	for kind, manifest := range map[string]string{
		"Job": `{apiVersion: batch/v1, kind: Job, metadata: {name: owner, labels: {notify: "yes"}}, ` +
			`spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: x}]}}}}`,
		"ReplicationController": `{apiVersion: v1, kind: ReplicationController, metadata: {name: owner}, ` +
			`spec: {selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: x}]}}}}`,
	} {
		for _, test := range []struct{ name, metadata, steps, want string }{
			{"the user deletes it", "{name: notice}", "[{when: {delete: " + kind + "/owner}, then: {count: {ConfigMap: 0}}}]", "ok "},
			{"what it made is still there at the end", "{name: notice, finalizers: [x.dev/held]}", "[]",
				"the primaries were deleted, but there is still ConfigMap/default/notice"},
		} {
			t.Run(kind+": "+test.name, func(t *testing.T) {
				apiVersion, _, _ := strings.Cut(strings.TrimPrefix(manifest, "{apiVersion: "), ",")
				s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: notices
  for: {apiVersion: `+apiVersion+`, kind: `+kind+`}
  children:
  - id: notice
    template: {apiVersion: v1, kind: ConfigMap, metadata: `+test.metadata+`}
`)
				text := "cases:\n- name: deleted\n  given: " + manifest + "\n  steps: " + test.steps + "\n"
				if got := report(t, s, prepare(t, s, text), ruletest.Options{}); !strings.Contains(got, test.want) {
					t.Errorf("want %q in:\n%s", test.want, got)
				}
			})
		}
	}
}

// TestWhatFailedMayBeTriedAgain has a case that ends before a retry. A restart retries at
// once, which is no error in the rules.
func TestWhatFailedMayBeTriedAgain(t *testing.T) {
	s := setting(t)
	got := report(t, s, prepare(t, s, `
cases:
- name: a quota
  steps:
  - when:
    - fail: {verb: apply, kind: Deployment, error: Forbidden}
    - apply: `+oneFoo+`
    then: {absent: Deployment}
`), ruletest.Options{})
	if strings.Contains(got, "FAIL") {
		t.Error(got)
	}
}

// TestExactlyOfThePrimary has a finalizer of reconcel, a field that the patch computes from itself, and the annotation
// that says which Jobs have finished.
func TestExactlyOfThePrimary(t *testing.T) {
	s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: counted
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  patch: {metadata: {annotations: {example.com/seen: '${annotation(self, "example.com/seen").orValue("once")}'}}}
  children:
  - id: setup
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: setup}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
  finalize:
  - id: cleanup
    timeout: 5m
    template: {apiVersion: batch/v1, kind: Job, metadata: {name: cleanup}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
`)
	play := func(want string) string {
		return report(t, s, prepare(t, s, `
cases:
- name: a
  given: `+oneFoo+`
  steps:
  - then: {objects: {kind: Foo, metadata: {name: foo, finalizers: [reconcel.dev/counted]}}}
  - when: {ready: Job/setup}
  - then: {exactly: `+want+`}
`), ruletest.Options{})
	}
	const right = "{kind: Foo, metadata: {name: foo, annotations: {example.com/seen: once}}}"
	if got := play(right); strings.Contains(got, "FAIL") {
		t.Error(got)
	}
	if got := play("{kind: Foo, metadata: {name: foo}}"); !strings.Contains(got, "example.com/seen: once") {
		t.Error(got)
	}
}

// TestExactlyIsWhatTheRulesSay has foreign fields, items and labels beside those of the
// rules.
func TestExactlyIsWhatTheRulesSay(t *testing.T) {
	s := settingOf(t, "rules.yaml", `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: service
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: web, labels: {app: web}, finalizers: [example.com/ours]}
      spec: {ports: [{name: http, port: 80}, {name: admin, port: 81, protocol: TCP}], externalIPs: [192.0.2.1]}
`)
	play := func(want string) string {
		return report(t, s, prepare(t, s, `
cases:
- name: a
  given: `+oneFoo+`
  steps:
  - when:
      patch: Service/web
      json:
      - {op: add, path: /metadata/labels/theirs, value: "yes"}
      - {op: add, path: /metadata/finalizers/-, value: example.com/theirs}
      - {op: add, path: /spec/ports/-, value: {name: more, port: 82}}
      - {op: add, path: /spec/sessionAffinity, value: ClientIP}
    then: {exactly: `+want+`}
  - when: {patch: Service/web, merge: {metadata: {finalizers: null}}}
`), ruletest.Options{})
	}
	const labels, ports = "labels: {app: web}, finalizers: [example.com/ours]", "[{name: http, port: 80}, {name: admin, port: 81, protocol: TCP}]"
	right := "{kind: Service, metadata: {name: web, " + labels + "}, spec: {ports: " + ports + ", externalIPs: [192.0.2.1]}}"
	if got := play(right); strings.Contains(got, "differs from what is expected") {
		t.Errorf("%s\n%s", right, got)
	}
	for _, wrong := range []string{
		strings.Replace(right, "app: web", "app: web, theirs: 'yes'", 1),
		strings.Replace(right, "labels: {app: web}, ", "", 1),
		strings.Replace(right, "port: 80", "port: 82", 1),
		strings.Replace(right, "{name: http, port: 80}, ", "", 1),
		strings.Replace(right, ", externalIPs: [192.0.2.1]", "", 1),
		strings.Replace(right, "externalIPs", "sessionAffinity: ClientIP, externalIPs", 1),
	} {
		if got := play(wrong); !strings.Contains(got, "Service/default/web differs from what is expected") {
			t.Errorf("%s\n%s", wrong, got)
		}
	}
}
