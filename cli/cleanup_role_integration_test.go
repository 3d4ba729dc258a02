//go:build integration

package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// keptRule stays in the repository, and loses a patch and a child. goneRule is removed.
const (
	keptRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: kept-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}"}}}
`
	labelPatch   = `patch: {metadata: {labels: {patched: "yes"}}}`
	removedChild = `  - {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}}}
`
	goneRule = `- name: gone-NAMESPACE
  for: {apiVersion: stable.example.com/v1, kind: Sample, namespaces: [NAMESPACE]}
  onRuleRemoval: delete
  teardown: ordered
  ` + labelPatch + `
  children:
  - {id: account, template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${self.metadata.name}"}}}
`
	// bundleRules are for the cluster. The objects of the first one stay.
	bundleRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: stays-NAMESPACE
  for: cluster
  allow: {namespaces: [NAMESPACE]}
  children:
  - {id: account, template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: stays, namespace: NAMESPACE}}}
- name: goes-NAMESPACE
  for: cluster
  onRuleRemoval: delete
  allow: {namespaces: [NAMESPACE]}
  children:
  - {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: goes, namespace: NAMESPACE}}}
`
	// accountRule writes as a ServiceAccount.
	accountRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: acts-NAMESPACE
  for: {apiVersion: stable.example.com/v1, kind: Sample, namespaces: [NAMESPACE]}
  serviceAccountName: NAMESPACE/deployer
  onRuleRemoval: delete
  children:
  - {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}}}
`
	// otherRule has no bundle, and needs no permissions for ConfigMaps.
	otherRule = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: other-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - {id: account, template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${self.metadata.name}"}}}
`
)

// A repository has rules and their permissions, for a process that runs as a ServiceAccount with these permissions.
type repository struct {
	*e2e.World
	binary, folder, kubeconfig string
	scope                      []string // flags
	apply                      []string // of kubectl
}

func newRepository(t *testing.T, binary string, cluster *devcluster.Cluster, scope ...string) *repository {
	t.Helper()
	r := &repository{World: e2e.New(t, cluster), binary: binary, folder: t.TempDir(),
		apply: []string{"apply", "--server-side", "--force-conflicts", "--field-manager=gitops"}}
	for _, arg := range scope {
		r.scope = append(r.scope, r.Fill(arg))
	}
	r.Create("{apiVersion: v1, kind: ServiceAccount, metadata: {name: " + r.Namespace + "}}")
	token := strings.TrimSpace(r.Kubectl("create", "token", r.Namespace, "-n", r.Namespace))
	config := cluster.Config()
	r.kubeconfig = filepath.Join(r.folder, "kubeconfig")
	if err := clientcmd.WriteToFile(api.Config{
		Clusters:  map[string]*api.Cluster{"": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos: map[string]*api.AuthInfo{"": {Token: token}}, Contexts: map[string]*api.Context{"": {}},
	}, r.kubeconfig); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, kind := range []string{"clusterrolebinding", "clusterrole"} {
			_, _ = cluster.Kubectl("delete", kind, "--ignore-not-found", r.Namespace, r.Namespace+"-cleanup")
		}
	})
	return r
}

func (r *repository) user() string { return "system:serviceaccount:" + r.Namespace + ":" + r.Namespace }

func (r *repository) file(name, text string) string {
	r.Helper()
	path := filepath.Join(r.folder, name)
	if err := os.WriteFile(path+".new", []byte(r.Fill(text)), 0o600); err != nil {
		r.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // The process never reads half of it.
		r.Fatal(err)
	}
	return path
}

// rules lets the process have these rules.
func (r *repository) rules(text string) {
	r.Helper()
	r.file("rules.yaml", text)
}

// roles applies the permissions of rules: as Argo CD and Flux do, or as kubectl apply does.
func (r *repository) roles(text string) {
	r.Helper()
	args := append([]string{"rbac", "-f", r.file("commit.yaml", text), "--crd", "../crds", "-n", r.Namespace, "--name", r.Namespace}, r.scope...)
	cmd := exec.Command(r.binary, args...)
	cmd.Env = e2e.Environment()
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("reconcel %v: %v", args, err)
	}
	r.Kubectl(append(r.apply, "-f", r.file("roles.yaml", string(out)))...)
}

// begin starts a process with rules and their permissions.
func (r *repository) begin(text string) *e2e.Process {
	r.Helper()
	r.roles(text)
	r.rules(text)
	return r.start()
}

func (r *repository) start() *e2e.Process {
	r.Helper()
	args := append([]string{"--kubeconfig", r.kubeconfig, "-n", r.Namespace, "--name", r.Namespace, "--leader-elect=false", "--listen=off",
		"-f", filepath.Join(r.folder, "rules.yaml")}, r.scope...)
	p := e2e.Command{Binary: r.binary, Name: "reconcel", Args: args}.Start(r.T)
	p.Runs()
	return p
}

// hasPermissions checks that a process has not complained of permissions.
func (r *repository) hasPermissions(p *e2e.Process) {
	r.Helper()
	if p.Logged("forbidden") || p.Logged("permission missing") {
		r.Errorf("its log complains of permissions:\n%s", p.Log())
	}
}

// may reports whether the process has a permission.
func (r *repository) may(verb, resource string) bool {
	r.Helper()
	out, _ := r.Cluster.Kubectl("auth", "can-i", verb, resource, "--as="+r.user(), "-n", r.Namespace)
	return strings.HasPrefix(out, "yes")
}

// revoked waits until the process has no longer a permission.
func (r *repository) revoked(verb, resource string) {
	r.Helper()
	r.Eventually(verb+" "+resource+" to be revoked", func() error {
		if r.may(verb, resource) {
			return errors.New("it is granted")
		}
		return nil
	})
}

// cleanup returns the resources of the cleanup role.
func (r *repository) cleanup() (all []string) {
	r.Helper()
	for _, rule := range r.cleanupRules() {
		all = append(all, rule.Resources...)
	}
	slices.Sort(all)
	return all
}

func (r *repository) cleanupRules() []rbacv1.PolicyRule {
	r.Helper()
	kind := "clusterrole"
	if len(r.scope) > 0 {
		kind = "role"
	}
	var role rbacv1.ClusterRole
	if err := json.Unmarshal([]byte(r.Kubectl("get", kind, r.Namespace+"-cleanup", "-n", r.Namespace, "-o", "json")), &role); err != nil {
		r.Fatal(err)
	}
	return role.Rules
}

// cleansUp waits until the cleanup role has these resources.
func (r *repository) cleansUp(want ...string) {
	r.Helper()
	r.Eventually("the cleanup role to be about "+strings.Join(want, ", "), func() error {
		if got := r.cleanup(); !slices.Equal(got, want) {
			return fmt.Errorf("it is about %v", got)
		}
		return nil
	})
}

// cleansUpFoos returns the verbs of the cleanup role for Foos.
func (r *repository) cleansUpFoos() (verbs []string) {
	r.Helper()
	for _, rule := range r.cleanupRules() {
		if slices.Contains(rule.Resources, "foos") {
			verbs = append(verbs, rule.Verbs...)
		}
	}
	return verbs
}

// create creates a resource of each rule, and waits until the rules have done their work.
func (r *repository) create() {
	r.Helper()
	r.Create("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: a}, spec: {deploymentName: a, replicas: 1}}")
	r.Create("{apiVersion: stable.example.com/v1, kind: Sample, metadata: {name: b}, spec: {message: hello}}")
	r.Has(e2e.ConfigMap, "a", nil)
	r.Has(e2e.GVK("v1", "Secret"), "a", nil)
	r.Has(e2e.GVK("v1", "ServiceAccount"), "b", nil)
	r.Has(e2e.GVK("stable.example.com/v1", "Sample"), "b", map[string]any{"metadata.labels.patched": "yes"})
	r.Has(e2e.GVK("samplecontroller.k8s.io/v1alpha1", "Foo"), "a", map[string]any{"metadata.labels.patched": "yes"})
	if len(r.Get(e2e.GVK("stable.example.com/v1", "Sample"), "b").GetFinalizers()) == 0 {
		r.Error("the Sample has no finalizer")
	}
}

// isDone waits until nothing is left of what one commit has removed, and nothing is written any more.
func (r *repository) isDone() {
	r.Helper()
	r.Lacks(e2e.GVK("v1", "Secret"), "a")
	r.Lacks(e2e.GVK("v1", "ServiceAccount"), "b")
	r.Eventually("the Sample to be as before", func() error {
		u := r.Get(e2e.GVK("stable.example.com/v1", "Sample"), "b")
		if len(u.GetFinalizers()) > 0 || u.GetLabels()["patched"] != "" {
			return fmt.Errorf("it has finalizers %v and labels %v", u.GetFinalizers(), u.GetLabels())
		}
		return nil
	})
	r.Eventually("the Foo not to be patched any more", func() error {
		if labels := r.Get(e2e.GVK("samplecontroller.k8s.io/v1alpha1", "Foo"), "a").GetLabels(); labels["patched"] != "" {
			return fmt.Errorf("it has labels %v", labels)
		}
		return nil
	})
	r.Has(e2e.ConfigMap, "a", nil)
	r.cleansUp("configmaps", "foos", "foos/status")
	r.Eventually("the permission to patch Foos to be gone", func() error {
		if verbs := r.cleansUpFoos(); !slices.Equal(verbs, []string{"get", "list", "watch"}) {
			return fmt.Errorf("the cleanup role has %v", verbs)
		}
		return nil
	})
	r.revoked("delete", "secrets")
	r.revoked("list", "samples.stable.example.com")
	since := time.Now()
	e2e.Rest(r.T, 12*time.Second)
	written, err := r.Cluster.Requests(func(q devcluster.Request) bool {
		return q.User == r.user() && q.IsWrite() && q.Resource != "leases" && q.Resource != "selfsubjectaccessreviews" && q.Received.After(since)
	})
	if err != nil {
		r.Fatal(err)
	}
	if len(written) > 0 {
		r.Errorf("at rest, it writes %v", devcluster.Tally(written))
	}
}

// TestOneCommitRemovesRulesAndPermissions removes a child of a rule, and another rule with its primaries, together with
// their permissions: in both orders, with a process that is killed in between, in some namespaces, and without the
// cleanup role. Another commit removes all rules for the cluster, and one a rule that writes as a ServiceAccount.
func TestOneCommitRemovesRulesAndPermissions(t *testing.T) {
	t.Parallel()
	cluster, binary := devcluster.Start(t, devcluster.Options{CRDs: "../crds"}), e2e.Build(t)
	before := strings.Replace(keptRule, "  children:", "  "+labelPatch+"\n  children:", 1) + removedChild + goneRule
	t.Run("roles first", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster)
		p := r.begin(before)
		r.create()
		r.cleansUp("configmaps", "foos", "foos/status", "samples", "samples/status", "secrets", "serviceaccounts")
		r.roles(keptRule)
		r.revoked("create", "secrets")
		r.revoked("create", "serviceaccounts")
		r.rules(keptRule)
		r.isDone()
		r.hasPermissions(p)
	})
	t.Run("rules first", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster, "--namespaced=NAMESPACE")
		r.apply = []string{"apply"}
		p := r.begin(before)
		r.create()
		r.rules(keptRule)
		r.roles(keptRule)
		r.isDone()
		r.hasPermissions(p)
	})
	t.Run("killed in between", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster)
		p := r.begin(before)
		r.create()
		p.Kill()
		r.roles(keptRule)
		r.revoked("create", "secrets")
		r.rules(keptRule)
		p = r.start()
		r.Lacks(e2e.GVK("v1", "Secret"), "a")
		p.Kill()
		p = r.start()
		r.isDone()
		r.hasPermissions(p)
	})
	t.Run("no cleanup role", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster)
		r.roles(before)
		r.Kubectl("delete", "clusterrole,clusterrolebinding", r.Namespace+"-cleanup")
		r.rules(before)
		p := r.start()
		r.create()
		r.roles(keptRule)
		r.Kubectl("delete", "clusterrole,clusterrolebinding", r.Namespace+"-cleanup")
		r.revoked("list", "secrets")
		r.rules(keptRule)
		p.Logs("reason=Forbidden", time.Minute)
		p.Logs("samples.stable.example.com is forbidden", 2*time.Minute)
		if strings.Contains(p.Log(), "cleanup role") {
			t.Errorf("nobody has applied a cleanup role:\n%s", p.Log())
		}
	})
	t.Run("bundles", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster)
		p := r.begin(bundleRules)
		secret := e2e.GVK("v1", "Secret")
		r.Has(secret, "goes", nil)
		r.Has(e2e.GVK("v1", "ServiceAccount"), "stays", nil)
		stays, goes := r.Fill("NAMESPACE-bundle-stays-NAMESPACE"), r.Fill("NAMESPACE-bundle-goes-NAMESPACE")
		r.Has(e2e.ConfigMap, stays, nil)
		r.Has(e2e.ConfigMap, goes, nil)
		r.roles(otherRule)
		r.revoked("create", "secrets")
		r.rules(otherRule)
		r.Lacks(secret, "goes")
		r.Lacks(e2e.ConfigMap, goes)
		r.Lacks(e2e.ConfigMap, stays)
		r.Has(e2e.GVK("v1", "ServiceAccount"), "stays", nil)
		r.revoked("list", "configmaps")
		r.revoked("delete", "configmaps/"+stays)
		r.revoked("delete", "configmaps/"+goes)
		r.revoked("delete", "secrets")
		r.hasPermissions(p)
	})
	t.Run("account", func(t *testing.T) {
		t.Parallel()
		r := newRepository(t, binary, cluster)
		p := r.begin(accountRule)
		secret := e2e.GVK("v1", "Secret")
		r.Create("{apiVersion: stable.example.com/v1, kind: Sample, metadata: {name: b}, spec: {message: hello}}")
		r.Has(secret, "b", nil)
		r.roles(otherRule)
		r.Kubectl("delete", "role,rolebinding", "-n", r.Namespace, r.Namespace+"-accounts")
		r.rules(otherRule)
		p.Logs("removal of rule incomplete", 2*time.Minute)
		if want := r.Fill("may not impersonate ServiceAccount NAMESPACE/deployer"); !strings.Contains(p.Log(), want) {
			t.Errorf("the log does not say %q:\n%s", want, p.Log())
		}
		r.Has(secret, "b", nil)
		r.roles(accountRule)
		r.Lacks(secret, "b")
		r.Kubectl("delete", "clusterrole", r.Fill("NAMESPACE:NAMESPACE:deployer"))
	})
}
