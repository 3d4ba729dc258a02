//go:build integration

package cli_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// whyReaderRole is all that why needs.
const whyReaderRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: why}
rules:
- {apiGroups: [samplecontroller.k8s.io, apps, ""], resources: [foos, deployments, configmaps, secrets, namespaces], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: why}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: why}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}]
`

// explained are rules with all that why tells apart.
const explained = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  let:
    wanted: self.spec.replicas
  lookups:
  - {id: token, apiVersion: v1, kind: Secret, name: token}
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${self.spec.deploymentName}
      spec:
        replicas: ${wanted}
        selector: {matchLabels: {app: foo}}
        template:
          metadata: {labels: {app: foo}}
          spec:
            containers:
            - {name: app, image: nginx}
  - id: config
    ignoreFields: [data.theirs]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: config}
      data:
        theirs: first
        token: ${string(base64.decode(token.data.token))}
        replicas: ${string(deployment.spec.replicas)}
  - id: many
    when: self.spec.replicas > 100
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: many}
  conditions:
  - type: Big
    when: wanted > 1
`

// TestWhy has an operator who may only read ask about fields before and after others change
// them.
func TestWhy(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"operator:system:masters", "reader"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), folder: t.TempDir(), kubeconfig: cluster.UserKubeconfig(t, "operator")}
	leading := &operator{r}
	e2e.Kubectl(t, cluster, "apply", "-f", "../crds/samplecontroller.k8s.io_foos.yaml")
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("reader.yaml", whyReaderRole))
	e2e.Kubectl(t, cluster, "create", "secret", "generic", "token", "--from-literal=token=hunter2")
	e2e.Kubectl(t, cluster, "apply", "-f", "../examples/foo/foo.yaml")
	rules := r.rules("rules.yaml", explained)
	leader := leading.lead(rules)
	o := &operator{&reviewer{T: t, cluster: cluster, binary: r.binary, folder: r.folder, kubeconfig: cluster.UserKubeconfig(t, "reader")}}
	why := func(patterns []string, args ...string) {
		t.Helper()
		v := o.eventually(0, patterns, append([]string{"why", "-f", rules}, args...)...)
		if strings.Contains(v.stdout, "hunter2") || strings.Contains(v.stdout, "aHVudGVyMg") {
			t.Errorf("why %s shows data of a Secret:\n%s", args, v.stdout)
		}
	}
	replicas := []string{"deployment/example-foo", "spec.replicas"}

	why([]string{`^Child: +deployment of Foo/default/example-foo, rule foo$`, `^Value: +1$`, `^In cluster: +1, in sync$`, `^Written by: +reconcel \(Apply\), \d+s ago$`,
		`^  template.spec.replicas = 1  wanted  \(.*rules.yaml:18:21\)$`, `^      let.wanted = 1  self.spec.replicas  `, `^        self.spec.replicas = 1$`}, replicas...)
	why([]string{`^Value: +"RollingUpdate"$`, `in sync|not set by the rules$`, `around the field`}, "deployment/example-foo", "spec.strategy.type")
	why([]string{`^Value: +\*\*\* \(withheld\)$`, `token.data.token = \*\*\* \(withheld\)`}, "configmap/config", "data.token")
	why([]string{`deployment.spec.replicas = 1$`, `self.spec.replicas = 1$`}, "configmap/config", "data.replicas")
	why([]string{`^State: +excluded$`, `^  when = false  self.spec.replicas > 100 `}, "configmap/many")
	why([]string{`^Condition: +Big$`, `^Status: +False, NotBig$`, `let.wanted = 1`}, "foo/example-foo", "--condition", "Big")
	why([]string{`^Condition: +Ready$`, `rule foo, deployment: ready`}, "foo/example-foo", "--condition", "Ready")
	for code, args := range map[int][]string{1: {"deployment/example-foo", "spec.replcas"}, 2: {"foo"}, 3: {"foo/missing"}} {
		if v := o.command(append([]string{"why", "-f", rules}, args...)...); v.code != code {
			t.Errorf("why %s: exit code %d, expected %d\n%s", args, v.code, code, v.stderr)
		}
	}

	leader.Signal(syscall.SIGTERM)
	if err := leader.Ends(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	e2e.Kubectl(t, cluster, "patch", "deployment", "example-foo", "--type=merge", "-p", `{"spec":{"replicas":5}}`)
	why([]string{`^In cluster: +5, drift to 1$`, `^Written by: +kubectl-patch \(Update\), \d+s ago$`}, replicas...)
	e2e.Kubectl(t, cluster, "patch", "configmap", "config", "--type=merge", "-p", `{"data":{"theirs":"second"}}`)
	why([]string{`^In cluster: +"second", ignored$`, `^Written by: +kubectl-patch`, `template.data.theirs = "first"`}, "configmap/config", "data.theirs")
	e2e.Kubectl(t, cluster, "patch", "foo", "example-foo", "--type=merge", "-p", `{"spec":{"replicas":2}}`)
	why([]string{`^Value: +2$`, `^In cluster: +5, about to change to 2$`}, replicas...)
	e2e.Kubectl(t, cluster, "delete", "deployment", "example-foo")
	why([]string{`^State: +missing: not created yet$`, `^Value: +2$`}, replicas...)
}
