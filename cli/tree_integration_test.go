//go:build integration

package cli_test

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// treeReaderRole does not include Pods and Secrets.
const treeReaderRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: tree}
rules:
- {apiGroups: [samplecontroller.k8s.io], resources: [foos], verbs: [get, list]}
- {apiGroups: [apps], resources: [deployments, replicasets], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tree}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: tree}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`

// moreChildren has a child in another namespace, one that waits and one that is not there.
const moreChildren = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: wide
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  allow: {namespaces: [elsewhere]}
  children:
  - id: copy
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy, namespace: elsewhere}, data: {a: b}}
  - id: bad
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {a: "${nowhere.data.a}"}}
  lookups:
  - {id: nowhere, apiVersion: v1, kind: ConfigMap, name: nowhere}
`

// TestTree has an operator look at a resource with and without rules, with few
// permissions, and while it changes.
func TestTree(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"operator:system:masters", "reader"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), folder: t.TempDir(), kubeconfig: cluster.UserKubeconfig(t, "operator")}
	o := &operator{r}
	e2e.Kubectl(t, cluster, "apply", "-f", "../crds/samplecontroller.k8s.io_foos.yaml")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	e2e.Kubectl(t, cluster, "create", "namespace", "elsewhere")
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("reader.yaml", treeReaderRole))
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/foo/foo.yaml")
	rules := r.rules("rules.yaml", readFile(t, "../examples/foo/rules.yaml")+"\n---\n"+moreChildren)
	leader := o.lead(rules)

	whole := []string{
		`^NAMESPACE +NAME +STATE +AGE +MESSAGE$`,
		`^default +Foo/example-foo +waiting +\d+s +.*nowhere`,
		`ConfigMap/copy +ready`,
		`^default +.─Deployment/example-foo +ready`,
		`^default +.*└─ReplicaSet/example-foo-\w+ +\w+`,
		`^default +.*└─Pod/example-foo-\S+ +\w+`,
	}
	o.shows(whole, "foo/example-foo")
	o.shows([]string{`Deployment/example-foo +ready`, `ConfigMap/copy +ready`, `ConfigMap/bad +waiting +- +waits for ConfigMap/default/nowhere`}, "-f", rules, "foo/example-foo")
	for code, args := range map[int][]string{2: {"bar/x"}, 3: {"foo/nobody"}} {
		if v := o.tree(args...); v.code != code {
			t.Errorf("tree %s: exit code %d, expected %d\n%s", args, v.code, code, v.stderr)
		}
	}
	var report struct {
		Tree struct {
			Children []struct{ Kind, State string }
		}
	}
	if v := o.tree("-o", "json", "foo/example-foo"); json.Unmarshal([]byte(v.stdout), &report) != nil || len(report.Tree.Children) != 2 {
		t.Errorf("tree -o json printed\n%s", v.stdout)
	}

	few := &operator{&reviewer{T: t, cluster: cluster, binary: r.binary, folder: r.folder, kubeconfig: cluster.UserKubeconfig(t, "reader")}}
	v := few.shows([]string{`Deployment/example-foo +ready`, `ReplicaSet/example-foo-\w+ +\w+`, `Pod +unread +- +list pods: .*forbidden`}, "foo/example-foo")
	if !strings.Contains(v.stderr, "may not be listed in namespace default") || !strings.Contains(v.stderr, "Secret") {
		t.Errorf("what may not be read is not named:\n%s", v.stderr)
	}
	if v := few.tree("-f", rules, "foo/example-foo"); !strings.Contains(v.stdout, "ConfigMap/copy") || !strings.Contains(v.stdout, "unread") {
		t.Errorf("a kind of the rules that may not be read is not in the tree:\n%s%s", v.stdout, v.stderr)
	}
	o.colours(rules)
	o.followsTree(rules)
	leader.Signal(syscall.SIGTERM)
	if err := leader.Ends(20 * time.Second); err != nil {
		t.Error(err)
	}
}

func (o *operator) tree(args ...string) answer {
	o.Helper()
	return o.command(append([]string{"tree"}, args...)...)
}

// shows retries until lines of the tree match the patterns in their order.
func (o *operator) shows(patterns []string, args ...string) answer {
	o.Helper()
	return o.eventually(0, patterns, append([]string{"tree"}, args...)...)
}

// followsTree sees the lookup appear that a child waits for, and then the child.
func (o *operator) followsTree(rules string) {
	says, end := o.following("tree", "-w", "-f", rules, "foo/example-foo")
	says(`Pod/example-foo-`)
	e2e.Kubectl(o.T, o.cluster, "create", "configmap", "nowhere", "--from-literal=a=b")
	says(`^default +ConfigMap/bad +ready`)
	e2e.Kubectl(o.T, o.cluster, "delete", "pods", "--all", "--wait=false")
	says(`^default +Pod/example-foo-\S+ +delet(ed|ing)`)
	end(0)
}

// colours expects graph to show the state of the same resource.
func (o *operator) colours(rules string) {
	v := o.command("graph", "-f", rules, "foo/example-foo")
	for _, want := range []string{"deployment<br>Deployment<br>ready", "nowhere<br>lookup of ConfigMap<br>missing", "bad<br>ConfigMap<br>waiting: waits for ConfigMap/default/nowh", "classDef ready"} {
		if !strings.Contains(v.stdout, want) {
			o.Errorf("graph does not show %q:\n%s%s", want, v.stdout, v.stderr)
		}
	}
}
