package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/dev"
	"reconcel/cli/internal/judge"
	"reconcel/deploy"
	"reconcel/rules"
	"reconcel/sim"
	"reconcel/test/e2e"
)

// A controlled is a cluster in memory in which controllers run, one after another.
type controlled struct {
	*testing.T
	served *dev.Server
	client dynamic.Interface
	home   string // the namespace of the controllers and their Rules objects
	log    *e2e.Log
	end    func()
}

var crdsOfCluster = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// newControlled returns a cluster with the kinds Rules and Foo, and a Foo.
func newControlled(t *testing.T) *controlled {
	t.Helper()
	served, err := dev.Start(dev.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(served.Stop)
	served.Config.QPS = -1 // No limit.
	c := &controlled{T: t, served: served, client: dynamic.NewForConfigOrDie(served.Config), home: "default", end: func() {}}
	t.Cleanup(func() { c.end() })
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(definition), readText(t, "../crds/samplecontroller.k8s.io_foos.yaml")} {
		c.apply(crdsOfCluster, "", text)
	}
	c.eventually("a Foo can be created", func() bool {
		_, err := c.client.Resource(devFoos).Namespace("default").List(t.Context(), metav1.ListOptions{})
		return err == nil
	})
	c.apply(devFoos, "default", readText(t, "../examples/foo/foo.yaml"))
	return c
}

// apply applies an object, as an author.
func (c *controlled) apply(gvr schema.GroupVersionResource, namespace, text string) {
	c.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		c.Fatal(err)
	}
	if _, err := c.client.Resource(gvr).Namespace(namespace).Apply(c.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "author", Force: true}); err != nil {
		c.Fatal(err)
	}
}

// delete deletes a Rules object.
func (c *controlled) delete(name string) {
	c.Helper()
	if err := c.client.Resource(rules.RulesResource).Namespace(c.home).Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

// start starts a controller with these flags of run, after the end of the last one.
func (c *controlled) start(args ...string) {
	c.Helper()
	c.end()
	s := &runFlags{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	s.flags(flags)
	if err := flags.Parse(args); err != nil {
		c.Fatal(err)
	}
	c.log = &e2e.Log{}
	command := runCommand{out: &printer{c.log, c.log}, loader: &loader{}}
	loaded, err := command.load(s)
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- controller{
			runFlags: s, out: command.out, loader: command.loader, loaded: loaded, invalid: rejected(loaded, judge.Of(loaded, nil, s.policy())),
			log: slog.New(newHandler(c.log, s, slog.LevelInfo)), config: c.served.Config, namespace: c.home, server: &server{}, debug: &server{}, clock: c.served.Clock,
			last: s.last,
		}.run(ctx, func() {})
	}()
	c.end = func() {
		c.end = func() {}
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("the controller ends with %v\n%s", err, c.log)
		}
	}
}

// patience is how long a test waits for what must happen.
const patience = 2 * time.Minute

func (c *controlled) eventually(what string, so func() bool) {
	c.Helper()
	err := wait.PollUntilContextTimeout(c.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) { return so(), nil })
	if err != nil {
		c.Fatalf("not after %s: %s\n%s", patience, what, c.log)
	}
}

func (c *controlled) get(gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	return c.getIn("default", gvr, name)
}

func (c *controlled) getIn(namespace string, gvr schema.GroupVersionResource, name string) *unstructured.Unstructured {
	u, err := c.client.Resource(gvr).Namespace(namespace).Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		return &unstructured.Unstructured{}
	}
	return u
}

// hasImage waits until the Deployment of the Foo has an image.
func (c *controlled) hasImage(image string) {
	c.Helper()
	c.eventually("the image is "+image, func() bool { return imageOf(c.get(devDeployments, "example-foo")) == image })
}

// says waits until the status of a Rules object is that of its generation, and contains these texts.
func (c *controlled) says(name string, texts ...string) {
	c.Helper()
	var u *unstructured.Unstructured
	err := wait.PollUntilContextTimeout(c.Context(), 10*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		u = c.getIn(c.home, rules.RulesResource, name)
		text, _ := json.Marshal(u.Object["status"])
		observed, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
		return observed == u.GetGeneration() && !slices.ContainsFunc(texts, func(part string) bool { return !strings.Contains(string(text), part) }), nil
	})
	if err != nil {
		text, _ := json.MarshalIndent(u.Object["status"], "", "  ")
		c.Fatalf("after %s the status of %s is not %q, but\n%s\n\n%s", patience, name, texts, text, c.log)
	}
}

// rests waits until a controller has had time to write, and returns what it and others wrote since n writes, besides Leases and Events.
func (c *controlled) rests(n int) (written []string) {
	c.Helper()
	before := -1
	c.eventually("nothing is written for 5 s", func() bool {
		if now := len(c.writes()); now != before {
			before = now
			time.Sleep(5 * time.Second)
			return false
		}
		return true
	})
	return c.writes()[n:]
}

func (c *controlled) writes() (written []string) {
	for _, w := range c.served.Cluster.Writes() {
		if w.Kind.Kind != "Lease" && w.Kind.Kind != "Event" {
			written = append(written, strings.Join([]string{w.By, w.Verb, w.Kind.Kind, w.Name, w.Subresource}, " "))
		}
	}
	return written
}

func fooRules(name, image string) string {
	return "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata:\n  name: " + name + "\n" + strings.ReplaceAll(strings.TrimPrefix(fooRulesText, "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\n"), "nginx:latest", image)
}

const fooRulesText = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  onRuleRemoval: delete
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.spec.deploymentName}"}
      spec:
        replicas: ${self.spec.replicas}
        selector: {matchLabels: {app: foo}}
        template:
          metadata: {labels: {app: foo}}
          spec:
            containers:
            - name: web
              image: nginx:latest
              args:
              - |
                one: "1"
                two
`

// TestRulesObjects applies rules as objects, makes a mistake in them, restarts with it, and mends it.
func TestRulesObjects(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.start("--rules-objects")
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.hasImage("nginx:1")
	c.says("web", `"type":"Ready"`, `"status":"True"`, `"reason":"Active"`, `"valid":true`, `"rules":1`, `"resources":1`, `"ready":1`)
	c.apply(rules.RulesResource, "default", strings.Replace(fooRules("web", "nginx:2"), "template:", "templates:", 1))
	typo := []string{`"Stalled"`, `"reason":"Invalid"`, `rules[0].children[0].templates: rule`, "did you mean 'template'?", `"valid":false`}
	c.says("web", typo...)
	c.apply(rules.RulesResource, "default", strings.Replace(fooRules("other", "nginx:3"), "name: foo", "name: other", 1))
	c.says("other", `"reason":"Active"`) // Both rules make one Deployment, which the resource reports.
	c.delete("other")
	c.start("--rules-objects")
	c.says("web", typo...)
	if image := imageOf(c.get(devDeployments, "example-foo")); image != "nginx:1" {
		t.Errorf("after a restart with the mistake, the image is %q", image)
	}
	c.apply(rules.RulesResource, "default", strings.Replace(fooRules("web", "nginx:2"), "self.spec.replicas", "self.spec.replcas", 1))
	c.says("web", `"reason":"InvalidForCluster"`, "rules[0].children[0].template.spec.replicas: ", "replcas")
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:2"))
	c.hasImage("nginx:2")
	c.says("web", `"reason":"Active"`, `"valid":true`)
	c.apply(rules.RulesResource, "default", fooRules("younger", "nginx:3"))
	c.says("younger", `"reason":"Conflict"`, "is also in Rules default/web")
	c.says("younger", `"Stalled"`, `"reason":"Conflict"`) // As nothing has come that would end it.
	c.rests(0)
	before := len(c.writes())
	if written := c.rests(before); len(written) > 0 {
		t.Errorf("at rest, this is written: %q", written)
	}
	c.delete("web")
	c.hasImage("nginx:3") // Of the other object.
	c.says("younger", `"reason":"Active"`)
	if strings.Contains(c.log.String(), `"rule removed" rule=foo`) {
		t.Errorf("a rule that another object has is removed:\n%s", c.log)
	}
	c.delete("younger")
	c.eventually("the removal is announced", func() bool { return strings.Contains(c.log.String(), `"rule removed, deleting its objects" rule=foo`) })
}

// TestRenamedRulesObject renames an object as Flux does: it applies the new one, and then deletes the old one. Nobody has
// to act, so the new one is never stalled.
func TestRenamedRulesObject(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.start("--rules-objects")
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.says("web", `"reason":"Active"`)
	before := c.served.Cluster.ChangeCount()
	c.apply(rules.RulesResource, "default", fooRules("site", "nginx:1"))
	c.says("site", `"Reconciling"`, `"reason":"Conflict"`)
	c.delete("web")
	c.says("site", `"reason":"Active"`, `"ready":1`)
	for _, change := range c.served.Cluster.Changes(before) {
		if change.New == nil {
			continue
		}
		if text, _ := json.Marshal(change.New.Object["status"]); change.New.GetName() == "site" && strings.Contains(string(text), "Stalled") {
			t.Errorf("for a moment, the new object has the status\n%s", text)
		}
	}
}

// TestRulesObjectsFromFilesAndBack moves rules from a file to an object and back. No child is written.
func TestRulesObjectsFromFilesAndBack(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, fooRules("web", "nginx:1"))
	c.start("-f", file)
	c.hasImage("nginx:1")
	c.rests(0)
	before := len(c.writes())
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	for _, args := range [][]string{{"-f", file, "--rules-objects"}, {"--rules-objects"}, {"-f", file}} {
		c.start(args...)
		c.eventually("it runs", func() bool { return strings.Contains(c.log.String(), "msg=running") })
		for _, w := range c.rests(before) {
			if strings.HasPrefix(w, "reconcel") && !strings.Contains(w, "ConfigMap reconcel-") && !strings.Contains(w, "Rules web status") {
				t.Errorf("with %q, this is written: %s", args, w)
			}
		}
		if strings.Contains(c.log.String(), "rule removed") {
			t.Errorf("with %q, a rule is removed:\n%s", args, c.log)
		}
	}
}

// TestRulesObjectsInterrupted ends a controller that waits for the objects.
func TestRulesObjectsInterrupted(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.served.Cluster.Fail(sim.Failure{Verb: "list", Kind: schema.GroupKind{Group: "reconcel.dev", Kind: "Rules"}, Times: sim.Always})
	c.start("--rules-objects")
	c.eventually("it waits", func() bool { return strings.Contains(c.log.String(), "rules unknown, will retry") })
	c.end()
}

// TestRulesObjectsInADryRun follows an object without writes, not even of its status.
func TestRulesObjectsInADryRun(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	before := len(c.writes())
	c.start("--rules-objects", "--dry-run")
	c.eventually("it would create the child", func() bool {
		return strings.Contains(c.log.String(), "msg=running rules=1") && strings.Contains(c.log.String(), "child=Deployment/default/example-foo")
	})
	if written := c.rests(before); len(written) > 0 {
		t.Errorf("a dry run writes: %q", written)
	}
}

// TestHeldRulesObject removes a child with many objects, which is held until the object is as before.
func TestHeldRulesObject(t *testing.T) {
	t.Parallel()
	c := newHolding(t)
	c.apply(rules.RulesResource, "default", withoutChildren("web"))
	c.says("web", `"Stalled"`, `"reason":"Held"`, "reconcel approve ", `"valid":true`)
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.says("web", `"reason":"Active"`)
}

// TestHeldRuleThatMoved moves a rule to another object, without its children. The change is held: the object that has
// the rule now says so, and the one that had it does not.
func TestHeldRuleThatMoved(t *testing.T) {
	t.Parallel()
	c := newHolding(t)
	c.apply(rules.RulesResource, "default", withoutChildren("site"))
	c.says("site", `"reason":"Conflict"`)
	c.apply(rules.RulesResource, "default", strings.Split(fooRules("web", ""), "rules:\n")[0]+"rules: []\n")
	c.says("site", `"Stalled"`, `"reason":"Held"`, "annotate Rules/site with ", `"resources":13`)
	c.says("web", `"reason":"Active"`, `"resources":0`)
}

// TestWhyFindsTheRulesInTheCluster asks about an object without -f. The rules are those of the installation.
func TestWhyFindsTheRulesInTheCluster(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.start("--rules-objects")
	c.says("web", `"reason":"Active"`, `"ready":1`)
	kubeconfig, err := c.served.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"why", "deploy/example-foo", "spec.replicas"}, // by its short name, as for kubectl
		{"why", "deployments.apps/example-foo", "spec.replicas", "--installation", "default/reconcel"},
	} {
		out, code := c.command(append(args, "--kubeconfig", kubeconfig)...)
		for _, part := range []string{"In cluster:  1, in sync", "self.spec.replicas", "(Rules default/web: rules[0].children[0].template.spec.replicas)"} {
			if code != 0 || !strings.Contains(out, part) {
				t.Errorf("%q ends with %d, without %q:\n%s", args, code, part, out)
			}
		}
	}
	for args, want := range map[string]string{
		"tree foos.samplecontroller.k8s.io/example-foo":          "Deployment",
		"tree foos.v1alpha1.samplecontroller.k8s.io/example-foo": "Deployment",
		"status cm": "no rule is for that kind",
	} {
		if out, _ := c.command(append(strings.Fields(args), "--kubeconfig", kubeconfig)...); !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", args, want, out)
		}
	}
	if out, code := c.command("why", "deploy/example-foo", "--installation", "default/other", "--kubeconfig", kubeconfig); code != 3 || !strings.Contains(out, "there is no installation default/other") || !strings.Contains(out, "-f") {
		t.Errorf("of an unknown installation, why ends with %d:\n%s", code, out)
	}
}

// command runs another command, and returns all that it prints and its exit code.
func (c *controlled) command(args ...string) (string, int) {
	var out bytes.Buffer
	code := (&app{stdin: strings.NewReader(""), stdout: &out, stderr: &out}).main(args)
	return out.String(), code
}

// newHolding returns a cluster with 13 Foos, and the object web, which reconcel --rules-objects follows.
func newHolding(t *testing.T) *controlled {
	t.Helper()
	c := newControlled(t)
	for i := range 12 {
		c.apply(devFoos, "default", strings.ReplaceAll(readText(t, "../examples/foo/foo.yaml"), "example-foo", fmt.Sprintf("foo-%d", i)))
	}
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.start("--rules-objects")
	c.says("web", `"reason":"Active"`, `"resources":13`, `"ready":13`)
	return c
}

func (c *controlled) deployments() int {
	c.Helper()
	list, err := c.client.Resource(devDeployments).Namespace("default").List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return len(list.Items)
}

// approvalInText finds what a message says to write into an object.
var approvalInText = regexp.MustCompile(`or annotate Rules/web with reconcel\.dev/approve: \\?"([0-9a-f]{10})\\?"`)

// withoutChildren returns the object web, or one with the same rule under another name, without its children.
func withoutChildren(name string) string {
	text := fooRules(name, "nginx:1")
	return text[:strings.Index(text, "  children:")]
}

// approving returns a Rules object that approves changes.
func approving(text, hashes string) string {
	return strings.Replace(text, "metadata:\n", "metadata:\n  annotations: {reconcel.dev/approve: \""+hashes+"\"}\n", 1)
}

// TestChangeApprovedInItsObject holds a change until the object of the rule approves it, which another object cannot.
func TestChangeApprovedInItsObject(t *testing.T) {
	t.Parallel()
	c := newHolding(t)
	other := strings.Replace(withoutChildren("other"), "name: foo", "name: other", 1)
	c.apply(rules.RulesResource, "default", other)
	c.says("other", `"reason":"Active"`)
	c.apply(rules.RulesResource, "default", withoutChildren("web"))
	c.says("web", `"reason":"Held"`, "reconcel approve ")
	status, _ := json.Marshal(c.get(rules.RulesResource, "web").Object["status"])
	found := approvalInText.FindSubmatch(status)
	if found == nil {
		t.Fatalf("the status does not say what to write into the object:\n%s", status)
	}
	hash := string(found[1])
	c.apply(rules.RulesResource, "default", approving(other, hash))
	c.apply(rules.RulesResource, "default", approving(withoutChildren("web"), "0123456789"))
	c.start("--rules-objects")
	c.eventually("the change is held after a restart", func() bool { return strings.Contains(c.log.String(), "changed rule is held") })
	c.rests(0)
	if n := c.deployments(); n != 13 {
		t.Errorf("%d of 13 Deployments are there although another object approves the change", n)
	}
	c.says("web", `"reason":"Held"`)
	c.end()
	c.apply(rules.RulesResource, "default", approving(withoutChildren("web"), "0123456789, "+hash))
	c.start("--rules-objects")
	c.eventually("the change takes effect", func() bool { return c.deployments() == 0 })
	c.says("web", `"reason":"Active"`)
	c.rests(0)
	before := len(c.writes())
	if written := c.rests(before); len(written) > 0 {
		t.Errorf("with the hash of an earlier change, this is written at rest: %q", written)
	}
}

// TestChangeApprovedByItsOwnCommit applies a change with its approval, whose hash plan foretells.
func TestChangeApprovedByItsOwnCommit(t *testing.T) {
	t.Parallel()
	empty := strings.Split(fooRules("web", ""), "rules:\n")[0] + "rules: []\n"
	for name, change := range map[string]struct{ to, done string }{
		"a child is removed": {withoutChildren("web"), ""},
		"a rule is removed":  {empty, `"rule removed, deleting its objects" rule=foo`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newHolding(t)
			kubeconfig, err := c.served.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "web.yaml")
			plan := func(text string) string {
				t.Helper()
				write(t, file, text)
				var out, errs bytes.Buffer
				a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
				if code := a.main([]string{"plan", "-f", file, "--kubeconfig", kubeconfig}); code > 1 {
					t.Fatalf("plan ends with %d\n%s%s", code, &errs, &out)
				}
				return out.String()
			}
			foretold := plan(change.to)
			hash := approvalInText.FindStringSubmatch(foretold)
			if hash == nil {
				t.Fatalf("plan does not say what to write into the object:\n%s", foretold)
			}
			approved := approving(change.to, hash[1])
			if foretold := plan(approved); strings.Contains(foretold, "Held until approved") {
				t.Errorf("plan holds a change that its object approves:\n%s", foretold)
			}
			c.apply(rules.RulesResource, "default", approved)
			c.eventually("the change takes effect", func() bool {
				if change.done != "" {
					return strings.Contains(c.log.String(), change.done)
				}
				return c.deployments() == 0
			})
			c.says("web", `"reason":"Active"`)
			if strings.Contains(c.log.String(), "changed rule is held") {
				t.Errorf("the change was held:\n%s", c.log)
			}
		})
	}
}

// TestRulesObjectThatRollsOut changes a rule in waves: the first resource fails, so that the change is undone.
func TestRulesObjectThatRollsOut(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	inWaves := func(image, more string) string {
		return strings.Replace(fooRules("web", image), "  onRuleRemoval: delete\n", "  rollout: {maxUnavailable: 1, onFailure: revert}\n"+more, 1)
	}
	c.apply(rules.RulesResource, "default", inWaves("nginx:1", ""))
	c.start("--rules-objects")
	c.says("web", `"reason":"Active"`, `"ready":1`)
	c.apply(rules.RulesResource, "default", inWaves("nginx:2", "  validate: [{expression: \"false\", message: never}]\n"))
	c.says("web", `"Stalled"`, `"reason":"Undone"`, "is stalled", `"valid":true`)
	c.apply(rules.RulesResource, "default", inWaves("nginx:3", ""))
	c.hasImage("nginx:3")
	c.says("web", `"reason":"Active"`)
}

// TestRulesObjectWithoutPermission has rules for a kind that may not be listed at first.
func TestRulesObjectWithoutPermission(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.served.Cluster.Fail(sim.Failure{Verb: "list", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Times: sim.Always,
		Err: apierrors.NewForbidden(devDeployments.GroupResource(), "", errors.New("no"))})
	c.start("--rules-objects")
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	c.says("web", `"Reconciling"`, `"reason":"Forbidden"`, `rule \"foo\": Deployment: `)
	c.says("web", `"Stalled"`, `"reason":"Forbidden"`)
	c.served.Cluster.Recover()
	c.hasImage("nginx:1")
	c.says("web", `"reason":"Active"`)
}

// TestNewRulesObjectIsInProgress has an object whose status reconcel has not written yet.
func TestNewRulesObjectIsInProgress(t *testing.T) {
	t.Parallel()
	c := newControlled(t)
	c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
	if observed, _, _ := unstructured.NestedInt64(c.get(rules.RulesResource, "web").Object, "status", "observedGeneration"); observed != -1 {
		t.Errorf("the observed generation is %d: kstatus takes an object without one for ready", observed)
	}
	c.start("--rules-objects")
	c.says("web", `"reason":"Active"`)
}

// TestRulesObjectWhoseStatusIsRejected has an object whose status cannot be written, because the object is too large, for example.
func TestRulesObjectWhoseStatusIsRejected(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
	} {
		c := newControlled(t)
		c.served.Cluster.Fail(sim.Failure{Verb: "apply", Kind: schema.GroupKind{Group: "reconcel.dev", Kind: "Rules"}, Name: "large", Subresource: "status", Times: sim.Always, Err: err})
		c.apply(rules.RulesResource, "default", strings.Replace(fooRules("large", "nginx:1"), "name: foo", "name: other", 1))
		c.apply(rules.RulesResource, "default", fooRules("web", "nginx:1"))
		c.start("--rules-objects")
		c.says("web", `"reason":"Active"`)
		c.end()
		if !strings.Contains(c.log.String(), `msg="status of Rules objects not written, will retry" object=Rules/default/large`) {
			t.Errorf("the log does not say it:\n%s", c.log)
		}
	}
}

// TestRulesObjectsAreOneSource has the same source of objects everywhere, with files and without.
func TestRulesObjectsAreOneSource(t *testing.T) {
	objects, both := &runFlags{rulesObjects: true}, &runFlags{rulesObjects: true, rules: ruleFiles{paths: []string{"rules.yaml"}}}
	if objects.origin() != "Rules objects" || both.origin() != origin([]string{"rules.yaml"})+" and Rules objects" {
		t.Errorf("%q, %q", objects.origin(), both.origin())
	}
}
