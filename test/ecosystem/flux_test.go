package ecosystem

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"reconcel/deploy"
	"reconcel/rules/syntax"
	"reconcel/test/e2e"
)

// patience is the deadline of what the controller does. It announces a removal for 30 seconds.
const patience = 90 * time.Second

// A repository is a folder that is applied with Flux's own library, as kustomize-controller does it with prune and wait,
// while reconcel follows its Rules objects.
type repository struct {
	*memory
	binary    string
	reconcel  *e2e.Process
	flux      *ssa.ResourceManager
	health    *cel.StatusEvaluator
	inventory object.ObjMetadataSet // of what was applied
	applied   int                   // changes of the cluster before the last commit
}

// A commit is a version of the folder, and what the cluster is afterwards.
type commit struct {
	does   string
	rules  map[string]string // by the name of the object
	foos   int               // 0: 3
	then   func(*repository) // before the state is compared
	fails  map[string]string // objects that Flux finds to have failed, with a part of the message. The others are healthy.
	has    string            // children of all Foos, and their version
	prunes string            // the children that are deleted
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	log.SetLogger(logr.Discard())
	r := &repository{memory: serveMemory(t), binary: e2e.Build(t)}
	var page struct {
		Spec struct{ HealthCheckExprs []kustomize.CustomHealthCheck }
	}
	snippet(t, "kind: Rules", &page)
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	transport, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cel.NewStatusReader(page.Spec.HealthCheckExprs)
	if err != nil {
		t.Fatal(err)
	}
	if r.health, err = cel.NewStatusEvaluator(&page.Spec.HealthCheckExprs[0].HealthCheckExpressions); err != nil {
		t.Fatal(err)
	}
	mapper := transport.RESTMapper()
	r.flux = ssa.NewResourceManager(transport, polling.NewStatusPoller(transport, mapper,
		polling.Options{CustomStatusReaders: []engine.StatusReader{reader(mapper)}}),
		ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	r.start()
	return r
}

// start starts reconcel, after the end of the last one.
func (r *repository) start() {
	r.Helper()
	if r.reconcel != nil {
		r.reconcel.Kill()
	}
	r.reconcel = e2e.Command{Binary: r.binary, Name: "reconcel", Args: []string{"--rules-objects", "--listen=off", "-n=default",
		"--leader-elect=false", "--kubeconfig=" + r.kubeconfig}}.Start(r.T)
	r.reconcel.Runs()
}

// folder returns the objects of a commit.
func (r *repository) folder(c commit) (all []*unstructured.Unstructured) {
	r.Helper()
	definition, err := deploy.RulesDefinition().YAML()
	if err != nil {
		r.Fatal(err)
	}
	texts := []string{string(definition), string(readFile(r.T, "../../crds/samplecontroller.k8s.io_foos.yaml"))}
	for i := range max(c.foos, 3) {
		texts = append(texts, strings.ReplaceAll(string(readFile(r.T, "../../examples/foo/foo.yaml")), "example-foo", "foo"+strconv.Itoa(i)))
	}
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		texts = append(texts, "apiVersion: "+syntax.APIVersion+"\nkind: "+syntax.Kind+"\nmetadata: {name: "+name+"}\nrules:\n"+c.rules[name])
	}
	for _, text := range texts {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			r.Fatal(err)
		}
		if u.GetKind() != "CustomResourceDefinition" {
			u.SetNamespace("default")
		}
		all = append(all, u)
	}
	return all
}

// apply applies a folder, and prunes what it had before. It returns what it changes.
func (r *repository) apply(all []*unstructured.Unstructured) (changed []string) {
	r.Helper()
	if err := normalize.UnstructuredList(all); err != nil {
		r.Fatal(err)
	}
	r.flux.SetOwnerLabels(all, "shop", "flux-system")
	options := ssa.DefaultApplyOptions()
	options.WaitInterval, options.WaitTimeout = 20*time.Millisecond, patience
	changes, err := r.flux.ApplyAllStaged(r.Context(), all, options)
	if err != nil {
		r.Fatal(err)
	}
	var stale []*unstructured.Unstructured
	for _, id := range r.inventory.Diff(changes.ToObjMetadataSet()) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(id.GroupKind.WithVersion("v1alpha1")) // Only Rules and Foos are removed.
		u.SetName(id.Name)
		u.SetNamespace(id.Namespace)
		stale = append(stale, u)
	}
	pruning := ssa.DefaultDeleteOptions()
	pruning.Inclusions = r.flux.GetOwnerLabels("shop", "flux-system")
	pruned, err := r.flux.DeleteAll(r.Context(), stale, pruning)
	if err != nil {
		r.Fatal(err)
	}
	r.inventory = changes.ToObjMetadataSet()
	for _, e := range slices.Concat(changes.Entries, pruned.Entries) {
		if e.Action != ssa.UnchangedAction {
			changed = append(changed, e.String())
		}
	}
	return changed
}

// commit applies a folder until the cluster is as the commit says.
func (r *repository) commit(c commit) {
	r.Helper()
	before := r.children()
	r.applied = r.ChangeCount()
	r.apply(r.folder(c))
	r.waits(c)
	if c.then != nil {
		c.then(r)
		r.waits(c)
	}
	r.until("the children are "+c.has, func() string { return has(r.children(), max(c.foos, 3)) }, c.has)
	if changed := r.apply(r.folder(c)); len(changed) > 0 {
		r.Errorf("%s: applied again, it changes %q", c.does, changed)
	}
	r.waits(c)
	r.saw(c, before)
}

// waits lets Flux wait as kustomize-controller does, until all is ready or something has failed.
func (r *repository) waits(c commit) {
	r.Helper()
	err := r.flux.WaitForSetWithContext(r.Context(), r.inventory, ssa.WaitOptions{Interval: 20 * time.Millisecond, Timeout: patience, FailFast: true})
	if len(c.fails) == 0 && err != nil || len(c.fails) > 0 && err == nil {
		r.Errorf("%s: Flux says %v", c.does, err)
	}
	for name, text := range c.fails {
		if err != nil && !strings.Contains(err.Error(), "Rules/default/"+name+" status: 'Failed'") {
			r.Errorf("%s: Flux says %v, not that %s has failed", c.does, err, name)
		}
		if status := fmt.Sprint(r.field(syntax.Kind+"."+"reconcel.dev", "default", name, "status", "conditions")); !strings.Contains(status, text) {
			r.Errorf("%s: the status of %s is %s, not %q", c.does, name, status, text)
		}
	}
}

// saw compares what has happened since the commit: no object was healthy or failed by mistake, even for a moment, and no
// child but the expected was deleted, not even to make it again.
func (r *repository) saw(c commit, before []*unstructured.Unstructured) {
	r.Helper()
	for _, change := range r.Changes(r.applied) {
		if change.New == nil || change.New.GetKind() != syntax.Kind {
			continue
		}
		result, err := r.health.Evaluate(r.Context(), change.New)
		wrong := status.FailedStatus
		if c.fails[change.New.GetName()] != "" {
			wrong = status.CurrentStatus
		}
		if now := r.find(syntax.Kind+".reconcel.dev", "default", change.New.GetName()); err == nil && result.Status == wrong && now != nil &&
			now.GetGeneration() == change.New.GetGeneration() {
			r.Errorf("%s: for a moment, %s is %s: %v", c.does, change.New.GetName(), wrong, change.New.Object["status"])
		}
	}
	var gone []string
	now := r.children()
	for _, u := range before {
		if !slices.ContainsFunc(now, func(n *unstructured.Unstructured) bool { return n.GetUID() == u.GetUID() }) {
			gone = append(gone, u.GetName())
		}
	}
	if got := strings.Join(gone, " "); got != c.prunes {
		r.Errorf("%s: it deletes %q, want %q", c.does, got, c.prunes)
	}
}

func (r *repository) until(what string, state func() string, want string) {
	r.Helper()
	e2e.Eventually(r.T, what, patience, func() error {
		if got := state(); got != want {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

// children returns the ConfigMaps of Foos, by name.
func (r *repository) children() (all []*unstructured.Unstructured) {
	for _, u := range r.All() {
		if u.GetKind() == "ConfigMap" && metav1.GetControllerOf(u) != nil {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return all
}

// has returns which children all Foos have, as child=version.
func has(children []*unstructured.Unstructured, foos int) string {
	count := map[string]int{}
	for _, u := range children {
		_, child, _ := strings.Cut(u.GetName(), "-")
		version, _, _ := unstructured.NestedString(u.Object, "data", "version")
		count[child+"="+version]++
	}
	var all []string
	for _, child := range slices.Sorted(maps.Keys(count)) {
		if n := count[child]; n != foos {
			child += fmt.Sprintf(" (%d of %d)", n, foos)
		}
		all = append(all, child)
	}
	return strings.Join(all, " ")
}

// rule returns a rule that makes a ConfigMap for each Foo.
func rule(name, child, version string) string {
	return fmt.Sprintf(`- name: %s
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  onRuleRemoval: delete
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-%s"}, data: {version: "%s"}}
`, name, child, version)
}

func typo(rule string) string { return strings.Replace(rule, "template:", "templates:", 1) }

// TestFlux tells stories of a repository that Flux applies. No step happens outside of the folder.
func TestFlux(t *testing.T) {
	one := func(text string) map[string]string { return map[string]string{"web": text} }
	first := commit{does: "first rules", rules: one(rule("web", "page", "1")), has: "page=1"}
	second := commit{does: "a change", rules: one(rule("web", "page", "2")), has: "page=2"}
	wrong := commit{does: "a typo", rules: one(typo(rule("web", "page", "2"))), fails: map[string]string{"web": "did you mean 'template'?"}, has: "page=1"}
	many := func(c commit) commit { c.foos = 12; return c }
	all := func(child string, n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("foo%d-%s", i, child))
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	renamed := many(commit{does: "a change that deletes much", rules: one(rule("web", "site", "1")),
		fails: map[string]string{"web": "would delete 12 of 12 objects"}, has: "page=1"})
	for _, story := range []struct {
		name    string
		commits []commit
	}{
		{"a typo, and git revert", []commit{first, wrong, first, second, first}},
		{"a typo and a restart", []commit{first, {does: wrong.does, rules: wrong.rules, fails: wrong.fails, has: wrong.has, then: func(r *repository) {
			r.start()
			r.deletes("foo1-page")
		}, prunes: "foo1-page"}, second}},
		{"a typo in the first rules", []commit{{does: wrong.does, rules: wrong.rules, fails: wrong.fails}, first}},
		{"a rule removed, another renamed", []commit{
			{does: "two rules", rules: map[string]string{"web": rule("web", "page", "1"), "log": rule("log", "log", "1")}, has: "log=1 page=1"},
			{does: "one removed, one renamed", rules: one(rule("site", "page", "1")), has: "page=1", prunes: all("log", 3)}}},
		{"a renamed object", []commit{first, {does: "the new name", rules: map[string]string{"site": rule("web", "page", "1")}, has: "page=1"}}},
		{"a rule moves to an object that exists", []commit{
			{does: "two objects", rules: map[string]string{"a": rule("a", "a", "1"), "b": rule("b", "b", "1") + rule("c", "c", "1")}, has: "a=1 b=1 c=1"},
			{does: "the move", rules: map[string]string{"a": rule("a", "a", "1") + rule("c", "c", "1"), "b": rule("b", "b", "1")}, has: "a=1 b=1 c=1"}}},
		{"a held change", []commit{many(first), renamed, many(commit{does: "its approval", has: "site=1", prunes: all("page", 12),
			rules: one(strings.Replace(rule("web", "site", "1"), "  children:", "  rollout: {maxDeletions: 100%}\n  children:", 1))})}},
		{"a held change is reverted", []commit{many(first), renamed, many(first)}},
		{"one of two objects is wrong", []commit{first,
			{does: "another object, with a typo", rules: map[string]string{"web": rule("web", "page", "2"), "log": typo(rule("log", "log", "1"))},
				fails: map[string]string{"log": "did you mean 'template'?"}, has: "page=2"},
			{does: "the correction", rules: map[string]string{"web": rule("web", "page", "2"), "log": rule("log", "log", "1")}, has: "log=1 page=2"}}},
	} {
		t.Run(story.name, func(t *testing.T) {
			r := newRepository(t)
			for _, c := range story.commits {
				r.commit(c)
			}
		})
	}
}

// deletes deletes a child, as others do, and waits for it to be back.
func (r *repository) deletes(name string) {
	r.Helper()
	was := r.find("ConfigMap", "default", name)
	if err := r.flux.Client().Delete(r.Context(), was.DeepCopy()); err != nil {
		r.Fatal(err)
	}
	r.eventually(name+" is back", func() bool {
		now := r.find("ConfigMap", "default", name)
		return now != nil && now.GetUID() != was.GetUID()
	})
}
