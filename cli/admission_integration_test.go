//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// author creates resources on a cluster with the policies.
type author struct {
	*testing.T
	cluster *devcluster.Cluster
	folder  string
}

// file writes a file and returns its path.
func (a *author) file(name, text string) string {
	a.Helper()
	path := filepath.Join(a.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.Fatal(err)
	}
	return path
}

// jane runs kubectl as a user with only the granted permissions.
func (a *author) jane(args ...string) error {
	_, err := a.cluster.Kubectl(append([]string{"--as=jane", "--namespace=authors"}, args...)...)
	return err
}

func (a *author) grant(verbs, resources string) {
	a.Helper()
	name := strings.NewReplacer(",", "-", ".", "-", "/", "-").Replace(verbs + "-" + resources)
	e2e.Kubectl(a.T, a.cluster, "create", "role", name, "--namespace=authors", "--verb="+verbs, "--resource="+resources)
	e2e.Kubectl(a.T, a.cluster, "create", "rolebinding", name, "--namespace=authors", "--role="+name, "--user=jane")
}

// denied waits until a request of jane's is rejected with this message.
func (a *author) denied(message string, args ...string) {
	a.Helper()
	// Policies check a dry run, too. A policy that is not yet in force would let a real
	// request change something.
	if !slices.Contains(args, "--dry-run=server") {
		args = append(slices.Clone(args), "--dry-run=server")
	}
	e2e.Eventually(a.T, "jane to be denied "+strings.Join(args, " "), time.Minute, func() error {
		if err := a.jane(args...); err == nil || !strings.Contains(err.Error(), message) {
			return fmt.Errorf("kubectl %v: got %w, want it refused: %s", args, err, message)
		}
		return nil
	})
}

// admitted waits until jane's request succeeds: grants take a moment.
func (a *author) admitted(args ...string) {
	a.Helper()
	e2e.Eventually(a.T, "jane to be allowed "+strings.Join(args, " "), time.Minute, func() error { return a.jane(args...) })
}

// typeChecked waits until the cluster has type-checked all policies, and expects no
// warning.
func (a *author) typeChecked(policies int) {
	a.Helper()
	const status = `{range .items[*]}{.metadata.name} {.status.observedGeneration} {.status.typeChecking.expressionWarnings}{"\n"}{end}`
	e2e.Eventually(a.T, "the policies to be type checked", time.Minute, func() error {
		lines := strings.Split(strings.TrimSpace(e2e.Kubectl(a.T, a.cluster, "get", "validatingadmissionpolicies", "-l", "app.kubernetes.io/instance=authors", "-o", "jsonpath="+status)), "\n")
		if len(lines) != policies {
			return fmt.Errorf("%d policies, want %d: %q", len(lines), policies, lines)
		}
		for _, line := range lines {
			if fields := strings.Fields(line); len(fields) != 2 || fields[1] != "1" {
				return fmt.Errorf("not checked, or with a warning: %s", line)
			}
		}
		return nil
	})
}

// ownRules have what the examples lack: a selector for a kind with a scale subresource,
// and as many permissions as one policy can hold.
func ownRules() string {
	rules := "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: selected\n" +
		"  for: {apiVersion: apps/v1, kind: ReplicaSet, selector: {matchLabels: {authors: \"yes\"}}}\n" +
		"  children: [{id: c, template: {apiVersion: v1, kind: Secret, metadata: {name: \"${self.metadata.name}\"}}}]\n- name: many\n" +
		"  for: {apiVersion: k8stest.justin0u0.com/v1alpha1, kind: PodSet, namespaces: [\"auth*\"]}\n  lookups:\n"
	for i := range 24 {
		rules += fmt.Sprintf("  - {id: l%d, apiVersion: v1, kind: ConfigMap, name: l%d}\n", i, i)
	}
	return rules
}

const janesSample = `
apiVersion: stable.example.com/v1
kind: Sample
metadata: {name: one}
spec: {image: busybox, message: hello, replicas: 1}
`

// TestAuthorsMustHoldTheRights has a user with few permissions create resources on a real
// control plane. The policies of all examples are in force, and reconcel runs as the
// ServiceAccount of the manifests.
func TestAuthorsMustHoldTheRights(t *testing.T) {
	t.Parallel()
	a := &author{T: t, cluster: devcluster.Start(t, devcluster.Options{CRDs: "../crds"}), folder: t.TempDir()}
	binary := e2e.Build(t)
	args := []string{"manifests", "--admission", "--crd", "../crds", "--name", "authors", "--namespace", "authors", "--rules", a.file("own.yaml", ownRules())}
	examples, err := filepath.Glob("../examples/*/rules.yaml")
	if err != nil || len(examples) < 13 {
		t.Fatalf("%d examples: %v", len(examples), err)
	}
	for _, e := range examples {
		args = append(args, "--rules", e)
	}
	out, err := exec.Command(binary, args...).Output()
	if err != nil {
		t.Fatalf("reconcel %v: %v", args, err)
	}
	manifests, sample := a.file("manifests.yaml", string(out)), a.file("sample.yaml", janesSample)
	e2e.Kubectl(t, a.cluster, "apply", "-f", manifests)
	a.typeChecked(strings.Count(string(out), "kind: ValidatingAdmissionPolicy\n"))
	a.follow(binary)

	create := []string{"create", "-f", sample}
	a.grant("get,create,update,patch,delete", "samples.stable.example.com,samples.stable.example.com/scale")
	a.denied(`rule "sample" makes deployments.apps: jane may not create them in namespace authors`, create...)
	a.grant("create", "deployments.apps")
	// The Deployment may ask reloader for what it reads.
	a.denied(`rule "reloader" reads configmaps: jane may not list them in namespace authors`, create...)
	a.grant("list", "configmaps")
	a.denied(`rule "reloader" reads secrets: jane may not list them in namespace authors`, create...)
	a.grant("list", "secrets")
	a.admitted(create...)
	e2e.Kubectl(t, a.cluster, "wait", "--namespace=authors", "--for=condition=Ready", "sample/one", "--timeout=60s")
	a.changes()

	// The policy stays within the limits of the API server even with many demands, and
	// admits a user who meets each of them.
	a.grant("create", "podsets.k8stest.justin0u0.com")
	a.grant("create", "pods")
	podSet := a.file("podset.yaml", "{apiVersion: k8stest.justin0u0.com/v1alpha1, kind: PodSet, metadata: {name: one}, spec: {replicas: 1}}")
	a.denied(`rule "many" reads configmaps: jane may not get l0 in namespace authors`, "create", "--dry-run=server", "-f", podSet)
	a.grant("get", "configmaps")
	a.admitted("create", "--dry-run=server", "-f", podSet)

	a.selects()
}

// selects has jane create resources that the rules select by label, and others.
func (a *author) selects() {
	a.Helper()
	t := a.T
	e2e.Kubectl(t, a.cluster, "create", "clusterrole", "authors-namespaces", "--verb=create", "--resource=namespaces")
	e2e.Kubectl(t, a.cluster, "create", "clusterrolebinding", "authors-namespaces", "--clusterrole=authors-namespaces", "--user=jane")
	t.Cleanup(func() {
		e2e.Kubectl(t, a.cluster, "delete", "clusterrole,clusterrolebinding", "authors-namespaces")
	})
	a.admitted("create", "namespace", "authors-plain", "--dry-run=server")
	for _, name := range []string{"name", "generateName"} {
		decorated := a.file("namespace.yaml", `{apiVersion: v1, kind: Namespace, metadata: {`+name+`: authors-more, labels: {platform.example.com/decorate: "true"}}}`)
		a.denied(`rule "namespace-decorator" makes networkpolicies.networking.k8s.io: jane may not create them in namespace authors-more`,
			"create", "--dry-run=server", "-f", decorated)
	}

	const secrets = `rule "selected" makes secrets: jane may not create them in namespace authors`
	replicaSet := func(name, labels string) string {
		return a.file(name+".yaml", `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: `+name+`, labels: {`+labels+`}}, spec: {`+
			`selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: x, image: x}]}}}}`)
	}
	a.grant("get,create,patch", "replicasets.apps,replicasets.apps/scale")
	a.grant("list", "pods") // Another rule lists Pods.
	a.admitted("create", "-f", replicaSet("plain", ""))
	a.denied(secrets, "create", "-f", replicaSet("selected", `authors: "yes"`))
	a.denied(secrets, "label", "replicaset/plain", "authors=yes")
	// A request for the scale subresource carries no labels.
	a.denied(secrets, "scale", "replicaset/plain", "--replicas=2")
	a.admitted("annotate", "replicaset/plain", "authors=no")
}

// changes has jane change and delete the Sample.
func (a *author) changes() {
	a.Helper()
	patch := func(body string) []string { return []string{"patch", "sample/one", "--type=merge", "--patch=" + body} }
	const refused = `rule "sample" changes deployments.apps: jane may not patch them in namespace authors`
	a.denied(refused, patch(`{"spec":{"message":"other"}}`)...)
	a.denied(refused, patch(`{"metadata":{"labels":{"a":"b"}}}`)...)
	a.denied(refused, patch(`{"metadata":{"annotations":{"a":"b"}}}`)...)
	a.denied(refused, "scale", "sample/one", "--replicas=2")
	// The policies ignore changes that the rule does not depend on.
	a.admitted(patch(`{"metadata":{"finalizers":["example.com/hold"]}}`)...)
	a.grant("patch,delete", "deployments.apps")
	a.admitted("scale", "sample/one", "--replicas=2")
	e2e.Kubectl(a.T, a.cluster, "wait", "--namespace=authors", "--for=jsonpath={.spec.replicas}=2", "deployment/one", "--timeout=60s")
	e2e.Kubectl(a.T, a.cluster, "delete", "rolebinding", "patch-delete-deployments-apps", "--namespace=authors")
	a.denied(refused, "scale", "sample/one", "--replicas=3")

	// The policies do not block the garbage collector or the removal of a finalizer.
	a.admitted("delete", "sample/one", "--cascade=foreground", "--wait=false")
	e2e.Kubectl(a.T, a.cluster, "wait", "--namespace=authors", "--for=delete", "deployment/one", "--timeout=60s")
	a.admitted(patch(`{"metadata":{"finalizers":null}}`)...)
	e2e.Kubectl(a.T, a.cluster, "wait", "--namespace=authors", "--for=delete", "sample/one", "--timeout=60s")
}

// follow runs reconcel as the ServiceAccount of the manifests.
func (a *author) follow(binary string) {
	a.Helper()
	config, err := clientcmd.LoadFromFile(a.cluster.Kubeconfig())
	if err != nil {
		a.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:authors:authors"
	}
	kubeconfig := filepath.Join(a.folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		a.Fatal(err)
	}
	run := exec.Command(binary, "run", "-f", "../examples/sample/rules.yaml", "--name", "authors", "--namespace", "authors", "--kubeconfig", kubeconfig, "--listen", "off")
	log, err := os.Create(filepath.Join(a.folder, "log"))
	if err != nil {
		a.Fatal(err)
	}
	run.Stderr = log
	if err := run.Start(); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt)
		_ = run.Wait()
		if text, err := os.ReadFile(log.Name()); a.Failed() && err == nil {
			a.Logf("log of reconcel:\n%s", text)
		}
	})
}
