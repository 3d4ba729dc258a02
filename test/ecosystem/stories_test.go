package ecosystem

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"reconcel/test/soak"
)

// A story is what happens to a repository. No step happens outside of the folder.
type story struct {
	name    string
	commits []commit
	// forbids: it is about permissions, which a cluster in memory does not check.
	forbids bool
}

// rule returns a rule that makes children for each Foo, which are given as child=version. A child "key" is a Secret, the
// others are ConfigMaps.
func rule(name string, children ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `- name: %s
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  onRuleRemoval: delete
  children:
`, name)
	for _, c := range children {
		child, version, _ := strings.Cut(c, "=")
		kind := "ConfigMap"
		if child == "key" {
			kind = "Secret"
		}
		fmt.Fprintf(&b, `  - id: %[1]s
    template: {apiVersion: v1, kind: %[3]s, metadata: {name: "${self.metadata.name}-%[1]s", annotations: {version: "%[2]s"}}}
`, child, version, kind)
	}
	return b.String()
}

func typo(rule string) string { return strings.Replace(rule, "template:", "templates:", 1) }

// careful adds a rollout to a rule with one child. The version "bad" of the child fails.
func careful(rule string) string {
	return strings.NewReplacer("  children:", "  rollout: {maxUnavailable: 1, onFailure: revert}\n  children:", "    template:",
		"    failWhen: annotation(child, \"version\").orValue(\"\") == \"bad\"\n    template:").Replace(rule)
}

func stories() []story {
	one := func(text string) map[string]string { return map[string]string{"web": text} }
	first := commit{does: "first rules", rules: one(rule("web", "page=1")), has: "page=1"}
	second := commit{does: "a change", rules: one(rule("web", "page=2")), has: "page=2"}
	wrong := commit{does: "a typo", rules: one(typo(rule("web", "page=2"))), fails: map[string]string{"web": "did you mean 'template'?"}, has: "page=1"}
	restart := wrong
	restart.then, restart.prunes = func(r *repository) { r.start(); r.deletes("foo1-page") }, "foo1-page"
	corrected := wrong
	corrected.has = ""
	many := func(c commit) commit { c.foos = 12; return c }
	renamed := many(commit{does: "a change that deletes much", rules: one(rule("web", "site=1")),
		fails: map[string]string{"web": "would delete 12 of 12 objects"}, has: "page=1"})
	two := commit{does: "two children", rules: one(rule("web", "page=1", "key=1")), has: "key=1 page=1"}
	counted := commit{does: "rules that read a field", rules: one(rule("web", "page=${string(self.spec.replicas)}")), has: "page=1"}
	return []story{
		{name: "a typo and git revert", commits: []commit{first, wrong, first, second, first}},
		{name: "a typo and a restart", commits: []commit{first, restart, second}},
		{name: "a typo in the first rules", commits: []commit{corrected, first}},
		{name: "a rule removed and another renamed", commits: []commit{
			{does: "two rules", rules: map[string]string{"web": rule("web", "page=1"), "log": rule("log", "log=1")}, has: "log=1 page=1"},
			{does: "one removed, one renamed", rules: one(rule("site", "page=1")), has: "page=1", prunes: every("log", 3)}}},
		{name: "a renamed object", commits: []commit{first, {does: "the new name", rules: map[string]string{"site": rule("web", "page=1")}, has: "page=1"}}},
		{name: "a rule moves to an object that exists", commits: []commit{
			{does: "two objects", rules: map[string]string{"a": rule("a", "a=1"), "b": rule("b", "b=1") + rule("c", "c=1")}, has: "a=1 b=1 c=1"},
			{does: "the move", rules: map[string]string{"a": rule("a", "a=1") + rule("c", "c=1"), "b": rule("b", "b=1")}, has: "a=1 b=1 c=1"}}},
		{name: "a held change that the next commit approves", commits: []commit{many(first), renamed,
			many(commit{does: "its approval", rules: renamed.rules, approves: "web", has: "site=1", prunes: every("page", 12)})}},
		{name: "a held change and another limit", commits: []commit{many(first), renamed, many(commit{does: "the limit", has: "site=1", prunes: every("page", 12),
			rules: one(strings.Replace(rule("web", "site=1"), "  children:", "  rollout: {maxDeletions: 100%}\n  children:", 1))})}},
		{name: "a held change is reverted", commits: []commit{many(first), renamed, many(first)}},
		{name: "one of two objects is wrong", commits: []commit{first,
			{does: "another object, with a typo", rules: map[string]string{"web": rule("web", "page=2"), "log": typo(rule("log", "log=1"))},
				fails: map[string]string{"log": "did you mean 'template'?"}, has: "page=2"},
			{does: "the correction", rules: map[string]string{"web": rule("web", "page=2"), "log": rule("log", "log=1")}, has: "log=1 page=2"}}},
		{name: "a rollout that is undone", commits: []commit{
			{does: "a careful rule", rules: one(careful(rule("web", "page=1"))), has: "page=1"},
			{does: "a version that fails", rules: one(careful(rule("web", "page=bad"))), fails: map[string]string{"web": "reason:Undone"}, has: "page=1"},
			{does: "the correction", rules: one(careful(rule("web", "page=3"))), has: "page=3"}}},
		{name: "a bad version of the CRD", commits: []commit{counted,
			{does: "the field has another name", rules: counted.rules, field: "size", fails: map[string]string{"web": "undefined field 'replicas'"}, has: "page=1"},
			{does: "git revert", rules: counted.rules, has: "page=1"}}},
		{name: "permissions that come late", forbids: true, commits: []commit{first,
			{does: "the rules", rules: two.rules, lacks: "secrets", fails: map[string]string{"web": "reason:Forbidden"}, has: "page=1"},
			{does: "the permissions", rules: two.rules, has: two.has}}},
		{name: "a child removed with its permissions", forbids: true, commits: []commit{two,
			{does: "the removal", rules: first.rules, has: first.has, prunes: every("key", 3)}}},
		{name: "a rule removed with its permissions", forbids: true, commits: []commit{
			{does: "two rules", rules: map[string]string{"web": rule("web", "page=1"), "vault": rule("vault", "key=1")}, has: two.has},
			{does: "the removal", rules: first.rules, has: first.has, prunes: every("key", 3)}}},
	}
}

// tools are what applies the folder.
var tools = []struct {
	name string
	make func() tool
}{
	{"flux", func() tool { return &flux{} }},
	{"kubectl", func() tool { return &kubectl{} }},
}

// tell tells a story. A killer may be nil.
func tell(t *testing.T, s site, with tool, by *killer, of story) {
	t.Helper()
	r := newRepository(t, s, with)
	r.killer = by
	for _, c := range of.commits {
		r.commit(c)
	}
	if by == nil {
		return
	}
	if t.Logf("reconcel was killed %d times", by.kills); by.kills < 2*len(of.commits) {
		t.Error("it was hardly killed")
	}
}

// siteOf returns the place for a repository in a cluster in memory.
func siteOf(m *memory) site {
	m.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", m.kubeconfig)
	if err != nil {
		m.Fatal(err)
	}
	return site{kubeconfig: m.kubeconfig, namespace: "default", name: "reconcel", account: config, every: time.Second, patience: 3 * time.Minute}
}

// TestStories tells the stories in memory.
func TestStories(t *testing.T) {
	for _, with := range tools {
		for _, s := range stories() {
			if s.forbids {
				continue
			}
			t.Run(with.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				tell(t, siteOf(serveMemory(t)), with.make(), nil, s)
			})
		}
	}
}

// TestStoriesAreKilled tells the stories in memory, while reconcel is killed at every write.
func TestStoriesAreKilled(t *testing.T) {
	for i, s := range stories() {
		if s.forbids || soak.Skips(i) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			place := siteOf(serveMemory(t))
			place.patience *= 3
			tell(t, place, tools[i%len(tools)].make(), &killer{among: 1}, s)
		})
	}
}
