//go:build integration

package cli_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// deadAPIs are three APIs that cannot be used: the backend of the first does not exist, that of the
// second accepts connections and does not answer, and the third has a dead conversion webhook.
const deadAPIs = `apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.dead.example.com}
spec: {group: dead.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {name: nosuch, namespace: default}}
---
apiVersion: v1
kind: Service
metadata: {name: hangs, namespace: default}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.hangs.example.com}
spec: {group: hangs.example.com, version: v1, groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true, service: {name: hangs, namespace: default, port: PORT}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: convs.conv.example.com}
spec:
  group: conv.example.com
  scope: Namespaced
  names: {kind: Conv, plural: convs}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const deadConversion = `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"name":"nosuch","namespace":"default"}}}}}}`

// deadRules need a dead API as the resource, as a child and in a lookup. The rule live needs none.
const deadRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: live
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-live"}, data: {a: "1"}}
- name: dead
  for: {apiVersion: dead.example.com/v1, kind: Thing}
  teardown: ordered
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-dead"}}
- name: conv
  for: {apiVersion: conv.example.com/v2, kind: Conv}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-conv"}}
- name: child
  for: {apiVersion: v1, kind: Service, selector: {matchLabels: {child: "yes"}}}
  children:
  - id: thing
    template: {apiVersion: hangs.example.com/v1, kind: Hang, metadata: {name: "${self.metadata.name}"}}
- name: lookup
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {lookup: "yes"}}}
  lookups:
  - {id: things, apiVersion: dead.example.com/v1, kind: Thing, selector: {}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${string(size(things))}"}}
`

const deadObjects = `{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: one, namespace: default}, spec: {deploymentName: one, replicas: 1}}
---
{apiVersion: conv.example.com/v1, kind: Conv, metadata: {name: one, namespace: default}}
---
{apiVersion: v1, kind: Service, metadata: {name: child, namespace: default, labels: {child: "yes"}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: lookup, namespace: default, labels: {lookup: "yes"}}}
`

// hang listens on localhost, and answers nothing until the test ends. It returns the port.
func hang(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			if _, err := listener.Accept(); err != nil {
				return
			}
		}
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestDeadAPIs has rules for APIs that do not answer beside a rule that needs none of them. Only
// what needs them is incomplete, and nothing of it is forgotten.
func TestDeadAPIs(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{CRDs: "../crds"})
	if cluster.Borrowed() {
		t.Skip("a dead API disturbs the other users of a borrowed cluster")
	}
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), kubeconfig: cluster.UserKubeconfig(t, "reconcel"), folder: t.TempDir()}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("apis.yaml", deadAPIs, "PORT", hang(t)))
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd/convs.conv.example.com", "--timeout=60s")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Available=false", "apiservice/v1.dead.example.com", "apiservice/v1.hangs.example.com", "--timeout=60s")
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("objects.yaml", deadObjects))
	e2e.Kubectl(t, cluster, "patch", "crd", "convs.conv.example.com", "--type=merge", "-p", deadConversion)
	file := r.rules("rules.yaml", deadRules)
	said := func(code int, command string, texts ...string) {
		t.Helper()
		began := time.Now()
		args := strings.Fields(command)
		args = append([]string{args[0], "--kubeconfig", r.kubeconfig}, args[1:]...)
		if args[0] != "uninstall" {
			args = append(args, "-f", file)
		}
		cmd := exec.Command(r.binary, args...)
		out, _ := cmd.CombinedOutput()
		if took := time.Since(began); cmd.ProcessState.ExitCode() != code || took > 20*time.Second {
			t.Errorf("%s ended with %d after %s, expected %d:\n%s", command, cmd.ProcessState.ExitCode(), took, code, out)
		}
		for _, text := range texts {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s does not say %q:\n%s", command, text, out)
			}
		}
	}
	dead := func(group string) string {
		return fmt.Sprintf("API %s/v1 is unavailable (see kubectl get apiservice v1.%s): the server is currently unable to handle the request", group, group)
	}
	things, hangs := dead("dead.example.com"), dead("hangs.example.com")
	const conversion = "conversion webhook for conv.example.com/v1, Kind=Conv failed"
	incomplete := []string{
		things + `; incomplete: kind Thing of rules "dead", "lookup"`, hangs + `; incomplete: kind Hang of rule "child"`,
		conversion, `; incomplete: kind Conv of rule "conv"`, "waits for kind Thing: " + things, "waits for kind Hang: " + hangs,
	}
	said(3, "plan", append(incomplete, "1 ConfigMap created (rule live, child config)")...)
	said(3, "diff", append(incomplete[1:], things+`; incomplete: kind Thing of rule "dead"`, `# Foo/default/one: rule "live", child "config": created`)...)
	said(1, "diff foo/one", `# Foo/default/one: rule "live", child "config": created`)
	said(3, "diff thing/one", "error: thing/one: "+things)
	said(0, "why configmap/one-live -n default", "config of Foo/default/one, rule live")
	said(3, "why things/one -n default", "error: things/one: "+things)
	said(0, "graph foo/one -n default", "ConfigMap<br>missing: not created yet")
	said(0, "tree service/child -n default", "Hang/child", "unread", hangs, conversion)

	process := startAs(t, r.binary, cluster, "reconcel", "-f", file, "--listen", "off", "--namespace", "default")
	if took := process.Logs("msg=running", 20*time.Second); took > 8*time.Second {
		t.Errorf("the start waited %s", took)
	}
	e2e.Kubectl(t, cluster, "wait", "--for=create", "configmap/one-live", "--timeout=10s")
	for _, missing := range []string{"Thing: " + things, "Hang: " + hangs} {
		if !process.Logged(missing) {
			t.Errorf("the log does not say %q", missing)
		}
	}
	r.rules("rules.yaml", deadRules, `{a: "1"}`, `{a: "2"}`, `for: {apiVersion: v1, kind: ServiceAccount`, `for: {apiVersion: v1, kind: Secret`, "kind: Thing, selector: {}", "kind: Other, selector: {}")
	if took := process.Logs(`msg="rules reloaded"`, 20*time.Second); took > 6*time.Second {
		t.Errorf("the reload waited %s", took)
	}
	e2e.Kubectl(t, cluster, "wait", "--for=jsonpath={.data.a}=2", "configmap/one-live", "--timeout=10s")
	said(3, "status", "Thing.dead.example.com could not be listed: "+things, conversion, "1 ready of 2 resources of 4 kinds")
	e2e.Kubectl(t, cluster, "wait", "--for=jsonpath={.status.conditions[0].type}=Ready", "foo/one", "--timeout=10s")

	// An API that does not answer still has its objects, whether it has a CRD or not.
	process.Signal(syscall.SIGTERM)
	if err := process.Ends(20 * time.Second); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	said(3, "uninstall --yes --namespace default", things, conversion)
	e2e.Kubectl(t, cluster, "get", "configmap", "reconcel-inventory", "-n", "default")
}
