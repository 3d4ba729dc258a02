//go:build integration

package server_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"reconcel/test/devcluster"
)

// A command is a kubectl command, with what it reads from stdin.
type command struct{ args, stdin string }

const widget = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.tour.example.com}
spec:
  group: tour.example.com
  scope: Namespaced
  names: {plural: gizmos, singular: gizmo, kind: Gizmo, listKind: GizmoList, shortNames: [gz], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.replicas, description: How many.}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    - {name: Note, type: string, jsonPath: .spec.note, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: A gizmo.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [note]
            properties:
              note: {type: string, description: A text., minLength: 2}
              replicas: {type: integer, default: 1}
              mode: {type: string, enum: [fast, slow]}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const gizmo = "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {note: hello}\n"

const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1", ports: [{containerPort: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, name: http}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {a: "1", b: "2"}
`

const list = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}, data: {a: "1"}}
- {apiVersion: tour.example.com/v1, kind: Gizmo, metadata: {name: listed}, spec: {note: hello}}
`

// tour are the commands, in order. All are for one namespace.
var tour = []command{
	{"apply -f -", widget},
	{"wait --for=condition=Established crd/gizmos.tour.example.com --timeout=30s", ""},
	{"apply -f -", gizmo},
	{"get gizmos", ""},
	{"get gz -o wide", ""},
	{"get gizmo one -o yaml", ""},
	{"get gizmos.v1.tour.example.com one -o name", ""},
	{"explain gizmo.spec", ""},
	{"explain gizmo.spec.note", ""},
	{"scale gizmo/one --replicas=4", ""},
	{"get gizmo one -o jsonpath={.spec.replicas}", ""},
	{"patch gizmo one --type=merge -p {\"spec\":{\"mode\":\"fast\"}}", ""},
	{"patch gizmo one --type=json -p [{\"op\":\"remove\",\"path\":\"/spec/mode\"}]", ""},
	{"patch gizmo one -p {\"spec\":{\"mode\":\"fast\"}}", ""},
	{"patch gizmo one --type=merge -p {\"spec\":{\"mode\":\"medium\"}}", ""},
	{"patch gizmo one --subresource=status --type=merge -p {\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", ""},
	{"wait gizmo/one --for=condition=Ready --timeout=10s", ""},
	{"wait gizmo/one --for=jsonpath={.spec.replicas}=4 --timeout=10s", ""},
	{"create -f -", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: two}\nspec: {}\n"},
	{"create -f -", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: two}\nspec: {note: a, colour: red}\n"},
	{"create -f - --validate=warn", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: two}\nspec: {note: aa, colour: red}\n"},
	{"create -f -", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: two}\nspec: {note: aa}\n"},
	{"apply -f - --server-side", gizmo},
	{"apply -f - --server-side --field-manager=other", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {note: other}\n"},
	{"apply -f - --server-side --field-manager=other --force-conflicts", "apiVersion: tour.example.com/v1\nkind: Gizmo\nmetadata: {name: one}\nspec: {note: other}\n"},
	{"get gizmos --sort-by=.spec.replicas -o custom-columns=N:.metadata.name,R:.spec.replicas", ""},
	{"get gizmos -l app=web", ""},
	{"get gizmos --field-selector=metadata.name=two -o name", ""},
	{"get gizmos --field-selector=spec.note=aa -o name", ""},
	{"apply -f -", web},
	{"diff -f -", strings.Replace(web, `"1"`, `"3"`, 1)},
	{"apply -f -", strings.Replace(web, `, b: "2"`, "", 1)},
	{"get configmap settings -o jsonpath={.data}", ""},
	{"apply -f - --dry-run=server", strings.Replace(web, "replicas: 2", "replicas: 7", 1)},
	{"apply -f - --dry-run=client", web},
	{"rollout status deployment/web --timeout=60s", ""},
	{"wait deployment/web --for=condition=Available --timeout=60s", ""},
	{"get deployment web", ""},
	{"get deployments -o wide", ""},
	{"get service web", ""},
	{"get configmaps settings", ""},
	{"get deployment,service,configmap -l app=web -o name", ""},
	{"scale deployment/web --replicas=3", ""},
	{"set image deployment/web main=nginx:2", ""},
	{"set env deployment/web A=B", ""},
	{"patch deployment web -p {\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"main\",\"imagePullPolicy\":\"Never\"}]}}}}", ""},
	{"get deployment web -o jsonpath={.spec.template.spec.containers}", ""},
	{"label deployment web tier=front", ""},
	{"label deployment web tier=back", ""},
	{"annotate deployment web note=x --overwrite", ""},
	{"create -f -", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec: {replica: 1}\n"},
	{"create secret generic key --from-literal=a=b", ""},
	{"get secret key", ""},
	{"create secret generic key --from-literal=a=b", ""},
	{"describe secret key", ""},
	{"describe configmap settings", ""},
	{"describe gizmo two", ""},
	{"create serviceaccount robot", ""},
	{"create role reader --verb=get --resource=pods", ""},
	{"create rolebinding readers --role=reader --serviceaccount=default:robot", ""},
	{"get rolebinding readers -o wide", ""},
	{"create quota few --hard=configmaps=100", ""},
	{"create cronjob nightly --image=busybox --schedule=@daily", ""},
	{"get cronjob nightly", ""},
	{"create ingress edge --rule=example.com/=web:80", ""},
	{"get ingress edge", ""},
	{"autoscale deployment/web --max=5", ""},
	{"create poddisruptionbudget guard --selector=app=web --min-available=1", ""},
	{"replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {c: \"3\"}\n"},
	{"get configmap settings -o jsonpath={.data}", ""},
	{"get configmap absent", ""},
	{"get nothing", ""},
	{"get pods --field-selector=colour=red", ""},
	{"auth can-i create gizmos", ""},
	{"api-resources --api-group=tour.example.com -o wide", ""},
	{"api-resources --api-group=apps -o wide", ""},
	{"api-resources --api-group= --namespaced=false -o name", ""},
	{"explain deployment.spec.strategy", ""},
	{"events --for=gizmo/one", ""},
	{"get --raw /readyz", ""},
	{"delete configmap settings absent", ""},
	{"delete deployment web --cascade=orphan", ""},
	{"apply -f -", list},
	{"apply -f -", list},
	{"create -f - --save-config", strings.Replace(list, "data", "date", 1)},
	{"delete gizmo one --dry-run=server", ""},
	{"delete gizmos --all", ""},
	{"delete gizmo one --ignore-not-found", ""},
	{"wait gizmo/one --for=delete --timeout=10s", ""},
	{"delete crd gizmos.tour.example.com", ""},
	{"get gizmos", ""},
}

// differs are the commands whose output differs, with the reason.
var differs = map[string]string{
	"create -f - --save-config": "the server rejects the item: kubectl validates items of Lists by OpenAPI v2, and the document of dev describes no kinds",
	"get ingress edge":          "an address, as a controller of Ingresses gives it: the control plane has none",
}

// random is what differs from run to run.
var random = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w+ \d{4} [\d:]+ \+0000`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`(resourceVersion: |Resource Version:\s+)"?\d+"?`), "${1}N"},
	{regexp.MustCompile(`(\s)(\d+[smh])+(\s|$)`), "${1}AGE$3"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "IP"},
	{regexp.MustCompile(`/tmp/(LIVE|MERGED)-\d+`), "$1"},
	{regexp.MustCompile(` +`), " "},
}

// TestKubectlSeesNoDifference runs kubectl against a server and against a control plane.
func TestKubectlSeesNoDifference(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Shared(t)
	s := serve(t, 0)
	config, err := s.access.Kubeconfig(s.address, "dev")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, config, 0o600); err != nil {
		t.Fatal(err)
	}
	const namespace = "tour"
	run := func(kubeconfig string, c command) string {
		args := append([]string{"kubectl", "--kubeconfig", kubeconfig, "--namespace", namespace}, strings.Split(c.args, " ")...)
		cmd := exec.CommandContext(t.Context(), "../../bin/devcluster", args...)
		cmd.Stdin = strings.NewReader(c.stdin)
		out, err := cmd.CombinedOutput()
		text := string(out)
		if err != nil {
			text += err.Error()
		}
		for _, r := range random {
			text = r.is.ReplaceAllString(text, r.as)
		}
		return text
	}
	for _, config := range []string{cluster.Kubeconfig(), kubeconfig} {
		run(config, command{args: "create namespace " + namespace})
	}
	t.Cleanup(func() { run(cluster.Kubeconfig(), command{args: "delete namespace --wait=false " + namespace}) })
	different := 0
	for _, c := range tour {
		want, have := run(cluster.Kubeconfig(), c), run(kubeconfig, c)
		diff := cmp.Diff(want, have)
		reason, expected := differs[c.args]
		switch {
		case diff != "" && !expected:
			t.Errorf("kubectl %s: the server differs from the control plane (-control plane +server):\n%s", c.args, diff)
		case diff == "" && expected:
			t.Errorf("kubectl %s: no difference any more: %s", c.args, reason)
		}
		if diff != "" {
			different++
		}
	}
	t.Logf("%d of %d commands differ", different, len(tour))
}

// TestControlPlaneReadsFollowTheDefinition is TestReadsFollowTheDefinition on a control plane.
func TestControlPlaneReadsFollowTheDefinition(t *testing.T) {
	client, err := dynamic.NewForConfig(devcluster.Shared(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Resource(crds).Delete(context.Background(), "gears.example.com", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	redefine(t, client)
}
