//go:build integration

package cli_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/deploy"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// followerRoles let a user work with Foos and ConfigMaps. The binding rules-follow permits it to follow Rules objects.
const (
	followerRoles = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: rules-work}, rules: [
  {apiGroups: ["", apiextensions.k8s.io, coordination.k8s.io, events.k8s.io, samplecontroller.k8s.io], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: rules-follow}, rules: [
  {apiGroups: [reconcel.dev], resources: ["*"], verbs: ["*"]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: rules-work},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rules-work}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: follower}]}
`
	followerBinding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: rules-follow},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rules-follow}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: follower}]}
`
	followedNamespace = `{apiVersion: v1, kind: Namespace, metadata: {name: platform}}
`
	followedRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
metadata: {name: web, namespace: platform}
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  onRuleRemoval: delete
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}"}}}
`
)

// A followed cluster has many Foos in one namespace, and a Rules object in another one.
type followed struct {
	*e2e.World
	binary   string
	process  *e2e.Process
	children map[string]types.UID
	repaired int
}

func (f *followed) start(args ...string) {
	f.Helper()
	if f.process != nil {
		f.process.Kill()
	}
	f.process = startAs(f.T, f.binary, f.Cluster, "follower", append(args, "--listen=off", "-n=platform", "--rules-objects")...)
}

func (f *followed) apply(text string) {
	f.Helper()
	file := filepath.Join(f.TempDir(), "applied.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Kubectl("apply", "--server-side", "--force-conflicts", "-f", file)
}

// active waits until the object says that its rules are active, and all Foos ready.
func (f *followed) active() {
	f.Helper()
	f.Kubectl("wait", "rules/web", "-n=platform", "--for=condition=Ready", "--timeout=60s")
	f.Kubectl("wait", "rules/web", "-n=platform", fmt.Sprintf("--for=jsonpath={.status.ready}=%d", len(f.children)), "--timeout=60s")
}

func (f *followed) live() map[string]types.UID {
	f.Helper()
	list, err := f.Resource(e2e.ConfigMap).List(f.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/rule=foo"})
	if err != nil {
		f.Fatal(err)
	}
	all := map[string]types.UID{}
	for i := range list.Items {
		all[list.Items[i].GetName()] = list.Items[i].GetUID()
	}
	return all
}

// stay checks that no child was deleted or created again.
func (f *followed) stay(when string) {
	f.Helper()
	if now := f.live(); !maps.Equal(now, f.children) {
		f.Fatalf("%s, there are %d of %d children, or some were created again", when, len(now), len(f.children))
	}
}

// repairs deletes a child, which the active rule creates again. All others stay.
func (f *followed) repairs(when string) {
	f.Helper()
	f.repaired++
	name := fmt.Sprintf("foo-%d", f.repaired)
	f.Delete(e2e.ConfigMap, name)
	f.Eventually(when+", "+name+" to be created again", func() error {
		u := f.Get(e2e.ConfigMap, name)
		if u == nil || u.GetUID() == f.children[name] {
			return errors.New("it is not")
		}
		f.children[name] = u.GetUID()
		return nil
	})
	f.stay(when)
}

// TestDeletedRulesObjectsOnCluster deletes the CustomResourceDefinition of a Rules object with 200 resources, the permission
// to list it, its namespace, and the object itself. Only the last one removes rules, when a user approves it.
func TestDeletedRulesObjectsOnCluster(t *testing.T) {
	t.Parallel()
	const foos = 200
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds", Users: []string{"follower"}, Without: []string{devcluster.Kwok, devcluster.Scheduler}})
	f := &followed{World: e2e.In(t, cluster, "default"), binary: e2e.Build(t)}
	served, err := deploy.RulesDefinition().YAML()
	if err != nil {
		t.Fatal(err)
	}
	define := func() {
		t.Helper()
		f.apply(string(served))
		f.Kubectl("wait", "--for=condition=Established", "crd/rules.reconcel.dev", "--timeout=60s")
	}
	define()
	f.apply(followerRoles + "---\n" + followerBinding + "---\n" + followedNamespace)
	f.apply(foosManifest(foos))
	f.apply(followedRules)
	f.start("--leader-elect=false")
	f.Eventually("all Foos to have a child", func() error {
		if f.children = f.live(); len(f.children) != foos {
			return fmt.Errorf("%d have", len(f.children))
		}
		return nil
	})
	f.active()

	for _, step := range []struct {
		deleted string
		restart bool
		says    string
		restore func()
	}{
		{"crd/rules.reconcel.dev", false, "Rules object deleted, its rules stay active", define},
		{"clusterrolebinding/rules-follow", true, "rules unknown, will retry", func() { f.apply(followerBinding) }},
		{"namespace/platform", false, "Rules object deleted, its rules stay active", func() { f.apply(followedNamespace) }},
	} {
		f.Kubectl("delete", step.deleted)
		if step.restart {
			f.start("--leader-elect=false")
		}
		f.process.Logs(step.says, time.Minute)
		f.repairs("without " + step.deleted)
		step.restore()
		f.apply(followedRules)
		f.active()
		f.stay("with " + step.deleted + " again")
	}

	f.start()
	f.process.Runs()
	f.Kubectl("delete", "namespace/platform")
	if err := f.process.Ends(time.Minute); err == nil {
		t.Error("a leader that has lost its Lease ends without an error")
	}
	f.start()
	f.stay("while the namespace is missing")
	f.apply(followedNamespace)
	f.process.Runs()
	f.apply(followedRules)
	f.active()
	f.repairs("in a namespace that was created again")

	f.Kubectl("delete", "rules/web", "-n=platform")
	f.process.Logs("changed rule is held", time.Minute)
	f.repairs("while the removal is held")
	hash := regexp.MustCompile("reconcel approve ([0-9a-f]{10})").FindStringSubmatch(f.process.Log())
	if hash == nil {
		t.Fatal("the log does not say how to approve the removal")
	}
	if out, err := exec.Command(f.binary, "approve", hash[1], "-n=platform", "--kubeconfig", cluster.Kubeconfig()).CombinedOutput(); err != nil {
		t.Fatalf("approve: %v\n%s", err, out)
	}
	f.process.Logs(`"rule removed, deleting its objects" rule=foo`, time.Minute)
	announced := time.Now()
	f.stay("before the announced deletion")
	f.Eventually("the children to be deleted", func() error {
		n := len(f.live())
		if since := time.Since(announced); n < foos && since < 25*time.Second {
			t.Fatalf("%d children are gone after %s", foos-n, since)
		}
		if n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	if n := strings.Count(f.Kubectl("get", "foos", "-o", "name"), "\n"); n != foos {
		t.Errorf("%d of %d Foos are left", n, foos)
	}
}
