package plan

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ruled is a fleet of Foos with a rule.
func ruled(t *testing.T, children string, foos int) (*fleet, func(string) *Report) {
	t.Helper()
	const head = fooHead + "- name: one\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n  children:\n"
	var objects []string
	for i := range foos {
		objects = append(objects, fmt.Sprintf("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: f%d, namespace: team}, spec: {deploymentName: d%d, replicas: 1}}", i, i))
	}
	f := newFleet(t, loadTexts(t, map[string]string{"rules.yaml": head + children}).Program, objects...)
	return f, func(children string) *Report {
		t.Helper()
		return f.plan(f.options(loadTexts(t, map[string]string{"rules.yaml": head + children})))
	}
}

// contains checks the text of a report.
func (r *Report) contains(t *testing.T, lines ...string) {
	t.Helper()
	text := strings.Join(strings.Fields(string(r.Text())), " ")
	for _, want := range lines {
		if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Errorf("the plan is\n%s", r.Text())
	}
}

// TestDone changes a Job that has finished, and has objects remembered that are done.
func TestDone(t *testing.T) {
	const child = "  - id: job\n    template: {apiVersion: batch/v1, kind: Job, metadata: {name: '${self.metadata.name}'}, " +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}\n" +
		"  - id: once\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}'}}\n"
	_, plan := ruled(t, child, 2)
	r := plan(strings.Replace(child, "spec: {template", "spec: {ttlSecondsAfterFinished: 3600, template", 1))
	r.contains(t, "Job (batch/v1) 0 2 0", "2 Job configured (rule one, child job) spec.ttlSecondsAfterFinished: 3600 added")
	r = plan(strings.Replace(child, "id: once", "id: once\n    onChange: once", 1))
	r.contains(t, "2 Foo: done configured (rule one)")
}

// TestStatusOfNoRule drops the status of the only rule that has one.
func TestStatusOfNoRule(t *testing.T) {
	const child = "  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}'}}\n"
	_, plan := ruled(t, child+"  status: {availableReplicas: 1}\n", 2)
	plan(child).contains(t, `2 Foo: status configured status: {"availableReplicas":1} removed team/f0, team/f1`)
}

// TestNewFailures adds failures to a rule that fails already. Those that the running rules have are no part of the plan,
// wherever they are in the file.
func TestNewFailures(t *testing.T) {
	const child = "  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}'}, data: {a: one}}\n"
	const fails = "  status: {availableReplicas: \"${int(self.metadata.labels.none)}\"}\n"
	_, plan := ruled(t, child+fails, 1)
	if r := plan("  # A line more.\n" + strings.Replace(child, "one", "two", 1) + fails); r.HasTrouble() || !r.Differs() {
		t.Errorf("a failure that runs is new:\n%s", r.Text())
	}
	for name, rule := range map[string]string{
		"a patch": child + fails + "  patch: {metadata: {annotations: {a: '${self.metadata.labels.none}'}}}\n",
		"a check": child + fails + "  validate: [{expression: 'false', message: too big}]\n",
	} {
		if r := plan(rule); !r.HasTrouble() {
			t.Errorf("%s: the plan has no failure:\n%s", name, r.Text())
		}
	}
}

// TestDriftedSecret changes a value of a Secret that another client has changed, too.
func TestDriftedSecret(t *testing.T) {
	const child = "  - id: a\n    template: {apiVersion: v1, kind: Secret, metadata: {name: '${self.metadata.name}'}, stringData: {a: one}}\n"
	f, plan := ruled(t, child, 1)
	secrets := f.Cluster().Client("user").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("team")
	if _, err := secrets.Patch(t.Context(), "f0", types.MergePatchType, []byte(`{"data":{"a":"eA=="}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := plan(strings.Replace(child, "    template", "    # A line more.\n    template", 1)); r.Differs() {
		t.Errorf("the repair is new:\n%s", r.Text())
	}
	r := plan(strings.Replace(child, "one", "two", 1))
	r.contains(t, "Secret (v1) 0 1 0", "1 Secret configured (rule one, child a) data.a: *** (before) → *** (after)")
}

const sharedChild = "  - id: a\n    ifExists: share\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {k: one}}\n"

// TestChangedShare changes an object that several resources share. It is changed once.
func TestChangedShare(t *testing.T) {
	f, plan := ruled(t, sharedChild, 3)
	r := plan(strings.Replace(sharedChild, "k: one", "k: two", 1))
	r.contains(t, "ConfigMap (v1) 0 1 0 0 0 0 0", "1 ConfigMap configured (rule one, child a) data.k: one → two", "2 ConfigMap shared (rule one, child a) is configured for Foo/team/f0")
	if r.HasTrouble() {
		t.Errorf("the plan has a failure:\n%s", r.Text())
	}
	r = plan(strings.Replace(sharedChild, "k: one", "k: '${self.metadata.name}'", 1))
	r.contains(t, "3 ConfigMap rejected (rule one, child a)", "data.k differs")
	r = plan(strings.Replace(strings.Replace(sharedChild, "k: one", "k: two", 1), "    ifExists", "    when: self.metadata.name != 'f2'\n    ifExists", 1))
	r.contains(t, "ConfigMap (v1) 0 1 0 0 0 0 0", "1 ConfigMap configured (rule one, child a)", "1 ConfigMap left (rule one, child a)")
	foos := f.Cluster().Client("user").Resource(runtimeschema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}).Namespace("team")
	if _, err := foos.Patch(t.Context(), "f1", types.MergePatchType, []byte(`{"metadata":{"annotations":{"reconcel.dev/paused":"true"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r = plan(strings.Replace(sharedChild, "k: one", "k: two", 1))
	r.contains(t, "2 ConfigMap rejected (rule one, child a)", "is shared with Foo/team/f1, but data.k differs")
}

// TestDeletedShare removes an object that several resources share. It is deleted once, and by no one alone.
func TestDeletedShare(t *testing.T) {
	const deleted, risk = "ConfigMap (v1) 0 0 0 0 1 0 0", "1 ConfigMap deleted, which deletes data (rule one, child a)"
	for name, c := range map[string]struct {
		before, after string
		foos          int
		want          []string
	}{
		"without the child":            {sharedChild, "", 3, []string{deleted, risk, "2 ConfigMap left (rule one, child a) is deleted for Foo/team/f0"}},
		"when of the child":            {sharedChild, strings.Replace(sharedChild, "    ifExists", "    when: 'false'\n    ifExists", 1), 2, []string{deleted, risk}},
		"another name":                 {sharedChild, strings.Replace(sharedChild, "common", "other", 1), 2, []string{"ConfigMap (v1) 1 0 0 0 1 0 0", risk}},
		"when of a resource":           {sharedChild, strings.Replace(sharedChild, "    ifExists", "    when: self.metadata.name == 'f0'\n    ifExists", 1), 3, []string{"2 ConfigMap left (rule one, child a) other resources of the rule still have it"}},
		"an object that stays":         {strings.Replace(sharedChild, "    ifExists", "    onDelete: orphan\n    ifExists", 1), "", 3, []string{"ConfigMap (v1) 0 0 0 0 0 1 0", "1 ConfigMap orphaned"}},
		"a rule without another":       {sharedChild + "  onRuleRemoval: delete\n", "elsewhere", 3, []string{deleted, risk}},
		"a rule beside another":        {sharedChild + "  onRuleRemoval: delete\n- name: two\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n", "two", 3, []string{deleted, risk}},
		"a selector":                   {sharedChild, "selector", 3, []string{deleted, risk}},
		"a rule that keeps its object": {sharedChild, "elsewhere", 3, []string{"ConfigMap (v1) 0 0 0 0 0 1 0", "1 ConfigMap orphaned"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, plan := ruled(t, c.before, c.foos)
			const foo = "apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo"
			with := func(text string) *Report {
				return f.plan(f.options(loadTexts(t, map[string]string{"rules.yaml": fooHead + text})))
			}
			var r *Report
			switch c.after {
			case "elsewhere":
				r = with("- name: elsewhere\n  for: {apiVersion: v1, kind: Service}\n")
			case "two":
				r = with("- name: two\n  for: {" + foo + "}\n")
			case "selector":
				r = with("- name: one\n  for: {" + foo + ", selector: {matchLabels: {a: b}}}\n  children:\n" + c.before)
			default:
				r = plan(c.after)
			}
			r.contains(t, c.want...)
			if strings.Contains(string(r.Markdown()), "No object changes") {
				t.Error("the comment says that nothing changes")
			}
			if strings.Contains(string(r.Text()), "finalizers configured (rule )") || len(r.Errors) > 0 {
				t.Errorf("the plan has no rule for a change:\n%s", r.Text())
			}
		})
	}
}
