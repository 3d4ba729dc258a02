package plan

import (
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reconcel/rules"
	"reconcel/test/soak"
)

// An edit changes the rules of one example.
type edit struct {
	name, of string
	replace  []string // old and new texts
	by       string   // the whole new text
	// uncertain: without dry runs, plan cannot know what happens.
	uncertain bool
	// oneWay: the way back is impossible for the objects. They are deleted.
	oneWay bool
}

// orderedRule no longer has an ordered teardown: the finalizer goes after the children have
// owner references.
const orderedRule = "- name: ordered\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, when: self.spec.replicas == 1}\n  children:\n" +
	"  - id: c\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"ordered-${self.metadata.name}\"}}\n"

const fooHead = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

var edits = []edit{
	{name: "a value", of: "foo", replace: []string{"nginx:latest", "nginx:1.29"}},
	{name: "a label of all", of: "foo", replace: []string{"        labels: ${labels}\n      spec", "        labels: '${merge(labels, {\"team\": \"a\"})}'\n      spec"}},
	{name: "a list of values more", of: "foo", replace: []string{"image: nginx:latest", "image: nginx:latest\n              env: [{name: A, value: '1'}]"}},
	{name: "a name", of: "foo", replace: []string{"name: ${self.spec.deploymentName}", "name: ${self.spec.deploymentName}-v2"}},
	{name: "when of a child", of: "foo", replace: []string{"- id: deployment\n", "- id: deployment\n    when: self.spec.replicas > 1\n"}},
	{name: "when of a rule", of: "foo", replace: []string{"kind: Foo\n", "kind: Foo\n    when: self.spec.replicas > 1\n"}},
	{name: "a child more", of: "foo", replace: []string{"  status:", "  - id: settings\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: \"${self.metadata.name}\"}, data: {a: \"1\"}}\n  status:"}},
	{name: "a child of another kind", of: "foo", replace: []string{"  status:", "  - id: account\n    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: \"${self.metadata.name}\"}}\n  status:"}},
	{name: "no children", of: "foo", by: fooHead + "- name: foo\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n"},
	{name: "a value of the status", of: "foo", replace: []string{"orValue(0)}", "orValue(0) + 1}"}},
	{name: "a rule renamed", of: "foo", replace: []string{"name: foo\n", "name: food\n"}},
	{name: "a child renamed", of: "foo", replace: []string{"id: deployment", "id: server", "deployment.status", "server.status"}},
	{name: "a rule removed", of: "foo", by: fooHead},
	{name: "a rule more", of: "more", by: fooHead + "- name: more\n  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}\n  children:\n" +
		"  - id: more\n    template: {apiVersion: v1, kind: Secret, metadata: {name: \"${self.metadata.name}\"}, stringData: {a: very-secret}}\n"},
	{name: "a check that some fail", of: "foo", replace: []string{"self.spec.?deploymentName.orValue(\"\") != \"\"", "self.spec.replicas > 1"}},
	{name: "an expression that fails", of: "foo", replace: []string{"app: nginx", "app: ${self.metadata.labels.app}"}},
	{name: "a field that cannot change", of: "foo", replace: []string{"matchLabels: ${labels}", "matchLabels: {app: nginx}"}, uncertain: true},
	{name: "a replacement", of: "foo", uncertain: true, oneWay: true,
		replace: []string{"- id: deployment\n", "- id: deployment\n    onChange: replace\n", "matchLabels: ${labels}", "matchLabels: {app: nginx}"}},
	{name: "a rule that keeps its objects", of: "foo", replace: []string{"- id: deployment\n", "- id: deployment\n    onDelete: orphan\n"}},
	{name: "ordered teardown", of: "foo", replace: []string{"  children:", "  teardown: ordered\n  children:"}},
	{name: "no ordered teardown", of: "ordered", by: fooHead + orderedRule},
	{name: "a patch", of: "foo", replace: []string{"  status:", "  patch: {metadata: {annotations: {a: \"1\"}}}\n  status:"}},

	{name: "a field of a user", of: "webapp", replace: []string{"    ignoreFields: [spec.replicas]\n", ""}},
	{name: "a condition renamed", of: "webapp", replace: []string{"- type: Available", "- type: Serving"}},
	{name: "a condition with another result", of: "webapp", replace: []string{"available >= wanted\n", "available > wanted + 5\n"}},
	{name: "a child that is excluded", of: "webapp", replace: []string{"when: has(self.spec.service)", "when: \"false\""}},
	{name: "a child of another kind instead", of: "webapp", replace: []string{"      kind: Deployment", "      kind: DaemonSet", "        replicas: ${self.spec.replicas}\n", "",
		"    ignoreFields: [spec.replicas]\n", "", "wanted: deployment.spec.?replicas.orValue(self.spec.replicas)", "wanted: self.spec.replicas",
		"deployment.status.?availableReplicas.orValue(0)", "deployment.status.?numberAvailable.orValue(0)", "deployment.status.?replicas.orValue(0)", "1"}},
	{name: "an item of a list", of: "webapp", replace: []string{"containerPort: ${self.spec.port}\n", "containerPort: ${self.spec.port}\n              - {name: metrics, containerPort: 9090}\n"}},
	{name: "a field less", of: "webapp", replace: []string{"                periodSeconds: 5\n", ""}},

	{name: "a removed rule that deletes", of: "namespace-decorator", by: fooHead},
	{name: "a renamed rule that deletes", of: "namespace-decorator", replace: []string{"name: namespace-decorator\n", "name: decorator\n"}},
	{name: "a renamed rule with a child less", of: "namespace-decorator",
		replace: []string{"name: namespace-decorator\n", "name: decorator\n", "        name: deployer\n", "        name: deploy\n"}},
	{name: "a selector", of: "namespace-decorator", replace: []string{"{platform.example.com/decorate: \"true\"}", "{platform.example.com/decorate: \"true\", size: large}"}},
	{name: "no report", of: "namespace-decorator", replace: []string{"  report: annotation\n", ""}},
	{name: "a default", of: "namespace-decorator", replace: []string{"orValue(\"20\")", "orValue(\"30\")"}},

	{name: "a label of Secrets and of a selector", of: "registry", replace: []string{"      app.kubernetes.io/name: registry\n", "      app.kubernetes.io/name: registry\n      team: a\n"}, uncertain: true},
	{name: "a rendered Secret", of: "registry", replace: []string{"\"username\": self.spec.user", "\"username\": self.spec.user + \"x\""}},
	{name: "fewer of a collection", of: "workerpool", replace: []string{"worker: self.spec.workers", "worker: self.spec.workers.filter(w, w.name != \"slow\")"}},
	{name: "Pods with another template", of: "workerpool", replace: []string{"sleep 10", "sleep 20"}},
	{name: "fewer replicas", of: "podset", replace: []string{"replicas: self.spec.replicas", "replicas: self.spec.replicas - 1"}},
}

// apply returns the rules after an edit.
func (e *edit) apply(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	texts = maps.Clone(texts)
	if e.by != "" {
		texts[e.of] = e.by
		if e.by == fooHead {
			delete(texts, e.of)
		}
		return texts
	}
	text := texts[e.of]
	for i := 0; i < len(e.replace); i += 2 {
		if !strings.Contains(text, e.replace[i]) {
			t.Fatalf("%s: there is no %q", e.of, e.replace[i])
		}
		text = strings.ReplaceAll(text, e.replace[i], e.replace[i+1])
	}
	texts[e.of] = text
	return texts
}

// fleetTexts are the rules before all edits, and fleetObjects 200 primaries.
func fleetTexts(t *testing.T) map[string]string {
	texts := map[string]string{}
	for _, name := range []string{"foo", "webapp", "namespace-decorator", "registry", "workerpool", "podset"} {
		texts[name] = readText(t, examples+"/"+name+"/rules.yaml")
	}
	texts["ordered"] = fooHead + strings.Replace(orderedRule, "  children:", "  teardown: ordered\n  children:", 1)
	return texts
}

func fleetObjects() (all []string) {
	for i := range 40 {
		at := fmt.Sprintf("{name: x%d, namespace: team-%d}", i, i%7)
		foo := fmt.Sprintf("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: %s, spec: {deploymentName: foo-x%d, replicas: %d}}", at, i, 1+i%4)
		webapp := fmt.Sprintf("{apiVersion: platform.example.com/v1alpha1, kind: WebApp, metadata: %s, spec: {image: 'web:%d', replicas: 2, port: 80, healthPath: /, service: {port: 80}, ingress: {host: x.example.com}}}", at, i)
		namespace := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: space-%d, labels: {platform.example.com/decorate: 'true', size: %s}}}", i, []string{"small", "large"}[i%2])
		registry := fmt.Sprintf("{apiVersion: platform.example.com/v1alpha1, kind: Registry, metadata: {name: r%d, namespace: team-%d}, spec: {image: 'registry:2', user: u}}", i, i%7)
		pods := fmt.Sprintf("{apiVersion: platform.example.com/v1alpha1, kind: WorkerPool, metadata: {name: p%d, namespace: team-%d}, spec: {image: busybox, maxUnavailable: 1, workers: [{name: fast, queue: a, cpu: 200m}, {name: slow, queue: b, cpu: 100m}]}}", i, i%7)
		if i%2 == 1 {
			pods = fmt.Sprintf("{apiVersion: k8stest.justin0u0.com/v1alpha1, kind: PodSet, metadata: {name: p%d, namespace: team-%d}, spec: {replicas: 3}}", i, i%7)
		}
		all = append(all, foo, webapp, namespace, registry, pods)
	}
	return all
}

// TestPlanIsWhatHappens plans an edit of the rules of 200 primaries, reloads them, and
// compares the plan with the objects that changed. make test tries a sample of the edits, make
// soak-plan all.
func TestPlanIsWhatHappens(t *testing.T) {
	texts := fleetTexts(t)
	before := loadTexts(t, texts)
	gc := debug.SetGCPercent(400) // The cluster in memory lives long.
	t.Cleanup(func() { debug.SetGCPercent(gc) })
	f := newFleet(t, before.Program, fleetObjects()...)
	for i, e := range edits {
		if soak.Skips(i) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			f.T = t
			edited := e.apply(t, texts)
			f.check(&e, before, loadTexts(t, edited))
			f.settle()
			if err := f.Reload(t.Context(), before.Program); err != nil {
				t.Fatal(err)
			}
			if e.oneWay {
				f.deleteChildren(e.of)
			}
			f.settle()
		})
	}
}

// check plans a reload from some rules to others, makes it, and compares.
func (f *fleet) check(e *edit, before, after *rules.Loaded) {
	f.Helper()
	o := f.options(after)
	o.Against, o.AgainstName = before, "before"
	foretold := f.plan(o)
	o.Local = true
	local := f.plan(o)
	n := f.Cluster().ChangeCount()
	if err := f.Reload(f.Context(), after.Program); err != nil {
		f.Fatal(err)
	}
	f.settle()
	happened := f.happened(n, before.Program, after.Program)
	want := f.withoutFollowing(happened)
	if diff := cmp.Diff(want, f.withoutFollowing(planned(foretold))); diff != "" {
		f.Errorf("what happened and what was planned (-happened +planned):\n%s", diff)
	}
	if diff := cmp.Diff(want, f.withoutFollowing(planned(local))); diff != "" && !e.uncertain {
		f.Errorf("what happened and what was planned without dry runs (-happened +planned):\n%s", diff)
	}
	for _, text := range [][]byte{foretold.Text(), foretold.Markdown(), local.Text()} {
		if strings.Contains(string(text), "very-secret") {
			f.Errorf("the plan has the value of a Secret:\n%s", text)
		}
	}
	if len(foretold.Errors) > 0 {
		f.Errorf("errors: %q", foretold.Errors)
	}
}
