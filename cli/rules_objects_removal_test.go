package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/rules/syntax"
	"reconcel/sim"
	"reconcel/test/cputime"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/stories"
)

// keptRules makes a ConfigMap for each Foo, which outlives the rule.
const keptRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata: {name: kept}
rules:
- name: other
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}"}}
`

// A removal is a cluster with many Foos, and the objects web and kept, which reconcel --rules-objects follows.
type removal struct {
	*controlled
	uids map[string]types.UID // of the children
}

func newRemoval(t *testing.T, resources int) *removal {
	t.Helper()
	c := newControlled(t)
	for i := range resources - 1 {
		c.apply(devFoos, "default", strings.ReplaceAll(readText(t, "../examples/foo/foo.yaml"), "example-foo", fmt.Sprintf("foo-%d", i)))
	}
	r := &removal{controlled: c}
	c.home = "platform"
	r.createHome()
	r.applyRules()
	c.start("--rules-objects")
	for _, name := range []string{"web", "kept"} {
		c.says(name, `"reason":"Active"`, fmt.Sprintf(`"resources":%d`, resources), fmt.Sprintf(`"ready":%d`, resources))
	}
	r.uids = r.children()
	if len(r.uids) != 2*resources {
		t.Fatalf("%d resources have %d children", resources, len(r.uids))
	}
	return r
}

func (r *removal) applyRules() {
	r.Helper()
	r.apply(rules.RulesResource, r.home, fooRules("web", "nginx:1"))
	r.apply(rules.RulesResource, r.home, keptRules)
}

var namespacesOfCluster = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func (r *removal) createHome() {
	r.Helper()
	r.apply(namespacesOfCluster, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+r.home+"}}")
}

// deleteHome deletes the namespace of the Rules objects, and waits until it is gone.
func (r *removal) deleteHome() {
	r.Helper()
	if err := r.client.Resource(namespacesOfCluster).Delete(r.Context(), r.home, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	r.eventually("the namespace is gone", func() bool {
		_, err := r.client.Resource(namespacesOfCluster).Get(r.Context(), r.home, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func (r *removal) children() map[string]types.UID {
	all := map[string]types.UID{}
	for _, u := range r.served.Cluster.All() {
		if kind := u.GetKind(); kind == "Deployment" || kind == "ConfigMap" && !strings.HasPrefix(u.GetName(), "reconcel-") {
			all[kind+"/"+u.GetName()] = u.GetUID()
		}
	}
	return all
}

// logs waits until the controller has logged a text so often.
func (r *removal) logs(text string, times int) {
	r.Helper()
	r.eventually(fmt.Sprintf("%q in the log", text), func() bool { return strings.Count(r.log.String(), text) >= times })
}

// repairs deletes a Deployment, which the active rule creates again. All other children stay.
func (r *removal) repairs(when, name string) {
	r.Helper()
	before := r.uids["Deployment/"+name]
	if err := r.client.Resource(devDeployments).Namespace("default").Delete(r.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.Fatal(err)
	}
	r.eventually(when+", Deployment "+name+" is created again", func() bool {
		now := r.get(devDeployments, name).GetUID()
		return now != "" && now != before
	})
	r.uids["Deployment/"+name] = r.get(devDeployments, name).GetUID()
	r.stay(when)
}

// stay checks that all children are there, and are the same.
func (r *removal) stay(when string) {
	r.Helper()
	now := r.children()
	for name, uid := range r.uids {
		if now[name] != uid {
			r.Fatalf("%s, %s has the UID %q, want %q\n%s", when, name, now[name], uid, r.log)
		}
	}
}

// TestDeletedRulesObjects deletes objects with 200 resources in all ways. Only the removal of a rule with onRuleRemoval is
// one that deletes, and it is held until a user approves it.
func TestDeletedRulesObjects(t *testing.T) {
	t.Parallel()
	const resources = 200
	r := newRemoval(t, resources)
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		t.Fatal(err)
	}
	define := func() {
		t.Helper()
		r.apply(crdsOfCluster, "", string(definition))
		r.eventually("Rules are served", func() bool {
			_, err := r.client.Resource(rules.RulesResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
			return err == nil
		})
	}
	undefine := func() {
		t.Helper()
		if err := r.client.Resource(crdsOfCluster).Delete(t.Context(), "rules.reconcel.dev", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r.eventually("Rules are not served", func() bool {
			_, err := r.client.Resource(rules.RulesResource).Namespace("default").List(t.Context(), metav1.ListOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	active := func() {
		t.Helper()
		r.applyRules()
		for _, name := range []string{"web", "kept"} {
			r.says(name, `"reason":"Active"`, fmt.Sprintf(`"ready":%d`, resources))
		}
	}

	undefine()
	r.logs("Rules object deleted, its rules stay active", 2)
	r.repairs("without the CustomResourceDefinition", "foo-1")
	define()
	waited, began := cputime.Waited(), time.Now()
	active()
	if took := time.Since(began) - (cputime.Waited() - waited); took > 20*time.Second {
		t.Errorf("objects that were created again are active after %s", took)
	}
	r.end()
	undefine()
	r.start("--rules-objects")
	r.logs("rules unknown, will retry", 1)
	r.repairs("after a start without the CustomResourceDefinition", "foo-2")
	define()
	r.logs("Rules object deleted, its rules stay active", 2)
	active()

	r.deleteHome()
	r.logs("Rules object deleted, its rules stay active", 4)
	r.repairs("without the namespace", "foo-6")
	r.createHome()
	active()
	r.deleteHome()
	r.logs("Rules object deleted, its rules stay active", 6)
	r.createHome()
	r.eventually("the inventory is there again", func() bool {
		return r.getIn(r.home, devConfigMaps, "reconcel-inventory").GetUID() != "" && r.getIn(r.home, devConfigMaps, "reconcel-revisions").GetUID() != ""
	})
	r.start("--rules-objects")
	r.repairs("after a restart in a namespace that was created again", "foo-7")
	active()
	r.end()
	r.deleteHome()
	r.start("--rules-objects")
	r.logs("start failed, will retry", 1)
	r.createHome()
	r.logs("msg=running", 1)
	r.stay("after a start without the namespace and the inventory")
	active()
	r.repairs("after the objects were applied to a new namespace", "foo-8")

	r.end()
	r.served.Cluster.Fail(sim.Failure{Verb: "list", Kind: schema.GroupKind{Group: "reconcel.dev", Kind: "Rules"}, Times: sim.Always})
	r.start("--rules-objects")
	r.logs("rules unknown, will retry", 1)
	r.repairs("without the permission to list", "foo-3")
	r.served.Cluster.Recover()
	r.logs("msg=running", 1)
	r.says("web", `"reason":"Active"`)

	r.delete("web")
	r.logs("changed rule is held", 1)
	r.repairs("while the removal is held", "foo-4")
	r.start("--rules-objects")
	r.logs("changed rule is held", 1)
	r.repairs("while the removal is held after a restart", "foo-5")
	r.applyRules()
	r.says("web", `"reason":"Active"`)

	r.end()
	r.delete("web")
	r.delete("kept")
	r.start("--rules-objects")
	r.logs("changed rule is held", 1)
	r.logs(`msg="Rules object removed" object=Rules/platform/kept`, 1)
	if err := r.client.Resource(devConfigMaps).Namespace("default").Delete(t.Context(), "foo-9", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	delete(r.uids, "ConfigMap/foo-9")
	r.repairs("after both were deleted while no process ran", "foo-9")
	if r.get(devConfigMaps, "foo-9").GetUID() != "" {
		t.Error("a removed rule creates a child again")
	}
	hash := regexp.MustCompile("reconcel approve ([0-9a-f]{10})").FindStringSubmatch(r.log.String())
	if hash == nil {
		t.Fatalf("the log does not say how to approve the removal:\n%s", r.log)
	}
	kubeconfig, err := r.served.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	if code := a.main([]string{"approve", hash[1], "--kubeconfig", kubeconfig, "-n", r.home}); code != 0 {
		t.Fatalf("approve ends with %d\n%s%s", code, &errs, &out)
	}
	r.logs(`"rule removed, deleting its objects" rule=foo`, 1)
	r.stay("before the announced deletion")
}

// TestRulesObjectWhoseStatusConflicts has an object whose status cannot be written because of a conflict. The status of
// another one is written, and the first one is not tried without end.
func TestRulesObjectWhoseStatusConflicts(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.served.Cluster.Fail(sim.Failure{Verb: "apply", Kind: schema.GroupKind{Group: "reconcel.dev", Kind: "Rules"}, Name: "contested", Subresource: "status", Times: sim.Always,
		Err: apierrors.NewConflict(rules.RulesResource.GroupResource(), "contested", errors.New("no"))})
	c.apply(rules.RulesResource, "default", strings.Replace(fooRules("contested", "nginx:1"), "name: foo", "name: other", 1))
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.start("--rules-objects")
	c.says("web", `"reason":"Active"`)
	c.rests(0)
	tries := 0
	for _, w := range c.writes() {
		if strings.Contains(w, "apply Rules contested status") {
			tries++
		}
	}
	if tries == 0 || tries > 5 {
		t.Errorf("the status is tried %d times at rest", tries)
	}
}

// TestUpgradeAndBack tells the story of two versions in memory.
func TestUpgradeAndBack(t *testing.T) {
	older := stories.OlderProgram(t)
	c := newControlled(t)
	kubeconfig, err := c.served.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	(&stories.Upgrade{
		T: t, Config: c.served.Config, Kubeconfig: kubeconfig, Older: older, Newer: "reconcel", Root: "..", Copies: 18,
		Writes: func() (all []devcluster.Request) {
			for _, w := range c.served.Cluster.Writes() {
				plural, _ := meta.UnsafeGuessKindToResource(w.Kind)
				if w.Kind.Kind == syntax.Kind {
					plural = rules.RulesResource
				}
				if strings.HasPrefix(w.By, "reconcel") {
					all = append(all, devcluster.Request{Verb: w.Verb, Group: plural.Group, Resource: plural.Resource, Subresource: w.Subresource,
						Namespace: w.Namespace, Name: w.Name})
				}
			}
			return all
		},
	}).Tell()
}

// TestRulesObjectsWithTwoProcesses kills the process that leads during a change of the rules, and stops the next one until
// another leads. The one that leads writes the status, and the one that wakes up does not.
func TestRulesObjectsWithTwoProcesses(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	kubeconfig, err := c.served.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string) *e2e.Process {
		t.Helper()
		return e2e.Command{Binary: "reconcel", Name: name, Args: []string{"--kubeconfig", kubeconfig, "-n=default", "--listen=off", "--rules-objects"}}.Start(t)
	}
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	first := start("first")
	first.Logs("msg=running", patience)
	second := start("second")
	second.Logs(`msg="standing by"`, patience)
	c.says("web", `"reason":"Active"`, `"ready":1`)

	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:2"))
	first.Kill()
	c.hasImage("nginx:2")
	c.says("web", `"reason":"Active"`, `"ready":1`)
	second.Logs("msg=running", patience)

	third := start("third")
	third.Logs(`msg="standing by"`, patience)
	c.apply(rules.RulesResource, "default", strings.Replace(fooRules("web", "nginx:3"), "template:", "templates:", 1))
	second.Signal(syscall.SIGSTOP)
	third.Logs("msg=running", patience)
	c.says("web", `"reason":"Invalid"`)
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:4"))
	c.hasImage("nginx:4")
	c.says("web", `"reason":"Active"`, `"ready":1`)
	c.rests(0)
	before := len(c.writes())
	second.Signal(syscall.SIGCONT)
	if err := second.Ends(patience); err == nil {
		t.Error("a process that does not lead any more ends without an error")
	}
	if written := c.rests(before); len(written) > 0 {
		t.Errorf("after the deposed process woke up, this is written: %q", written)
	}
	c.says("web", `"reason":"Active"`)
}
