//go:build integration

package cli_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// fanInRules are a rule without primaries, and one for two kinds that marks their objects.
const fanInRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: fan-in
  for: cluster
  allow: {namespaces: [default], clusterScoped: [{group: networking.k8s.io, kind: IngressClass}], read: {namespaces: ["*"]}}
  lookups:
  - {id: services, apiVersion: v1, kind: Service, namespace: "", selector: {matchLabels: {exposed: "yes"}}}
  children:
  - id: routes
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: routes, namespace: default}, data: {routes: '${services.map(s, s.metadata.name).join(" ")}'}}
  - id: class
    template: {apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: edge}, spec: {controller: example.com/edge}}
- name: notes
  for:
  - {apiVersion: apps/v1, kind: Deployment, namespaces: [default]}
` + notedServices + `  report: annotation
  teardown: ordered
  patch: {metadata: {annotations: {noted: "${self.kind}"}}}
  children:
  - id: note
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${self.kind.lowerAscii()}"}, data: {kind: "${self.kind}"}}
`

const notedServices = `  - {apiVersion: v1, kind: Service, namespaces: [default], selector: {matchLabels: {exposed: "yes"}}}
`

const notedObjects = `apiVersion: v1
kind: Service
metadata: {name: app, labels: {exposed: "yes"}}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  replicas: 0
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: app, image: app}]}}
`

// fanInBundle is the ConfigMap of the bundle.
const fanInBundle = "configmap/reconcel-bundle-fan-in"

// TestBundlesAndSeveralKinds shows what diff, status, tree and uninstall say about a bundle
// and about a rule for several kinds, from an empty cluster to an empty cluster.
func TestBundlesAndSeveralKinds(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"operator:system:masters"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), folder: t.TempDir(), kubeconfig: cluster.UserKubeconfig(t, "operator")}
	o := &operator{r}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("objects.yaml", notedObjects))
	rules := r.rules("rules.yaml", fanInRules)

	o.becomes(0, []string{`^rule "fan-in": there is no ConfigMap with the state of the bundle: reconcel has not run the rule yet$`}, "-f", rules)
	bundle := []string{
		`ConfigMap/default/reconcel-bundle-fan-in: rule "fan-in", child "routes": created`,
		`ConfigMap/default/reconcel-bundle-fan-in: rule "fan-in", child "class": created`,
	}
	r.answers(r.diff("-f", rules, fanInBundle), 1, bundle...)
	r.answers(r.diff("-f", rules), 1, append([]string{
		`Deployment/default/app: rule "notes", finalizers: configured`,
		`Deployment/default/app: rule "notes", child "note": created`,
		`Deployment/default/app: rule "notes", patch: configured`,
		`Deployment/default/app: rule "notes", status: configured`,
		`Service/default/app: rule "notes", finalizers: configured`,
		`Service/default/app: rule "notes", child "note": created`,
		`Service/default/app: rule "notes", patch: configured`,
		`Service/default/app: rule "notes", status: configured`,
	}, bundle...)...)
	if v := r.diff("-f", rules, "configmap/other"); v.code != 2 || !strings.Contains(v.stderr, `"configmap/other": no rule is for that kind`) {
		t.Errorf("a ConfigMap that is no bundle: exit code %d\n%s", v.code, v.stderr)
	}

	leader := o.lead(rules)
	o.becomes(0, []string{
		`^default +configmap/reconcel-bundle-fan-in +ready +Reconciled`, `^default +deployment/app +ready +Reconciled`, `^default +service/app +ready +Reconciled`,
		`^3 ready of 3 resources of 3 kinds$`,
	}, "-f", rules, "--all")
	for _, args := range [][]string{{"tree", fanInBundle, "-n", "default"}, {"tree", fanInBundle, "-n", "default", "-f", rules}} {
		o.eventually(0, []string{`ConfigMap/reconcel-bundle-fan-in +ready`, `├─ConfigMap/routes +ready`, `└─IngressClass/edge +ready`}, args...)
	}
	r.answers(r.diff("-f", rules), 0)

	renamed := r.diff("-f", r.rules("renamed.yaml", fanInRules, "name: fan-in", "name: fan-out"))
	r.answers(renamed, 1,
		`ConfigMap/default/reconcel-bundle-fan-out: rule "fan-out", child "routes": adopted (no other resource or rule has it)`,
		`ConfigMap/default/reconcel-bundle-fan-out: rule "fan-out", child "class": adopted (no other resource or rule has it)`)
	fewer := r.diff("-f", r.rules("fewer.yaml", fanInRules, notedServices, "", "name: fan-in", "name: fan-out"))
	if want := "not compared: objects of rules that are in the inventory but not in these files: fan-in, notes for Service\n"; fewer.stderr != want {
		t.Errorf("a kind has left the rule: %s", fewer.stderr)
	}

	leader.Signal(syscall.SIGTERM)
	if err := leader.Ends(20 * time.Second); err != nil {
		t.Error(err)
	}
	o.uninstalls()
}

// uninstalls removes everything, after dry runs that keep the children of a paused bundle.
func (o *operator) uninstalls() {
	o.Helper()
	uninstall := func(args ...string) []string {
		o.Helper()
		v := o.command(append([]string{"uninstall", "-n", "default"}, args...)...)
		if v.code != 0 {
			o.Errorf("uninstall %v: exit code %d\n%s", args, v.code, v.stderr)
		}
		return strings.Split(strings.TrimSpace(strings.ReplaceAll(v.stdout, " (dry run)", "")), "\n")
	}
	const paused = "kept: ConfigMap/default/reconcel-bundle-fan-in is paused"
	e2e.Kubectl(o.T, o.cluster, "annotate", fanInBundle, "reconcel.dev/paused=true")
	if said := uninstall("--children=delete", "--dry-run"); !slices.Contains(said, "IngressClass/edge "+paused) || !slices.Contains(said, "ConfigMap/default/routes "+paused) {
		o.Errorf("the bundle is paused: %q", said)
	}
	e2e.Kubectl(o.T, o.cluster, "annotate", fanInBundle, "reconcel.dev/paused-")
	want := []string{
		"IngressClass/edge deleted",
		"ConfigMap/default/routes deleted",
		"ConfigMap/default/reconcel-bundle-fan-in deleted",
		"Deployment/default/app patch reverted",
		"ConfigMap/default/app-deployment deleted",
		"Deployment/default/app finalizer reconcel.dev/notes removed",
		"Deployment/default/app annotation reconcel.dev/status removed",
		"Service/default/app patch reverted",
		"ConfigMap/default/app-service deleted",
		"Service/default/app finalizer reconcel.dev/notes removed",
		"Service/default/app annotation reconcel.dev/status removed",
		"Lease/default/reconcel deleted",
		"ConfigMap/default/reconcel-revisions deleted",
		"ConfigMap/default/reconcel-inventory deleted",
	}
	kept := slices.DeleteFunc(slices.Clone(want), func(line string) bool {
		return strings.Contains(line, "reverted") || strings.HasSuffix(line, "/edge deleted") || strings.HasSuffix(line, "/routes deleted") || strings.Contains(line, "default/app-")
	})
	for _, c := range []struct {
		args []string
		want []string
	}{{[]string{"--dry-run"}, kept}, {[]string{"--children=delete", "--dry-run"}, want}, {[]string{"--children=delete", "--yes"}, want}} {
		if diff := cmp.Diff(c.want, uninstall(c.args...)); diff != "" {
			o.Errorf("uninstall %v (-want +got):\n%s", c.args, diff)
		}
	}
	left := e2e.Kubectl(o.T, o.cluster, "get", "configmaps,ingressclasses", "-n", "default", "-o", "name")
	marks := e2e.Kubectl(o.T, o.cluster, "get", "deployments,services", "-n", "default", "-o", "jsonpath={.items[*].metadata.annotations}{.items[*].metadata.finalizers}")
	if strings.TrimSpace(left) != "configmap/kube-root-ca.crt" || strings.Contains(marks, "reconcel.dev") || strings.Contains(marks, "noted") {
		o.Errorf("there are still %s, and the marks %s", left, marks)
	}
}
