//go:build integration

package cli_test

import (
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

const gadgetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.foretell.example.com}
spec:
  group: foretell.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: string}
              names: {type: array, items: {type: string}}
              also: {type: string}
          status:
            type: object
            properties:
              size: {type: string}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type]
                  properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, lastTransitionTime: {type: string}, observedGeneration: {type: integer}}
`

const gadgetRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: gadget
  for: {apiVersion: foretell.example.com/v1, kind: Gadget, selector: {matchLabels: {gadget: "yes"}}}
  children:
  - id: app
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        replicas: 0
        strategy: {type: Recreate}
        selector: {matchLabels: {app: "${self.metadata.name}"}}
        template:
          metadata: {labels: {app: "${self.metadata.name}"}}
          spec:
            containers:
            - name: app
              image: nginx
              env: [{name: SIZE, value: "1"}]
              volumeMounts: [{name: data, mountPath: /data}]
              readinessProbe: {httpGet: {path: /, port: 80}}
            volumes: [{name: data, emptyDir: {}}]
  - id: settings
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-settings"}, data: {a: "1"}}
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}, stringData: {password: first}}
  - id: once
    onChange: keep
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-once"}, data: {size: "${self.spec.size}"}}
  - id: again
    onChange: replace
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-again"}, immutable: true, data: {size: "${self.spec.size}"}}
  - id: named
    forEach: [{name: n, in: "self.spec.?names.orValue([])"}]
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-${n}"}}
  - id: held
    when: self.spec.?also.orValue("") == "held"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-held"}, data: {a: "1"}}
  - id: adopted
    when: self.spec.?also.orValue("") == "adopted"
    ifExists: adopt
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-adopted"}, data: {a: "1"}}
  - id: orphan
    onDelete: orphan
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-orphan"}, data: {a: "1"}}
  patch: {metadata: {annotations: {size: "${self.spec.size}"}}}
  status: {size: "${self.spec.size}"}
- name: guard
  for: {apiVersion: foretell.example.com/v1, kind: Gadget, selector: {matchLabels: {guard: "yes"}}}
  teardown: ordered
  children:
  - id: guarded
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-guarded"}}
- name: versioned
  for: {apiVersion: foretell.example.com/v1, kind: Gadget, selector: {matchLabels: {versioned: "yes"}}}
  children:
  - id: version
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-version"}, data: {version: first}}
  - id: former
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${self.metadata.name}-former"}}
  - id: moved
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-moved"}}
`

// disturbance is a change to a gadget while run is stopped.
type disturbance struct {
	name   string
	labels string     // besides gadget=yes
	by     [][]string // kubectl commands; GADGET stands for the gadget's name
	want   []string   // the writes of run that follow
	later  []string   // the writes after that, once the objects are deleted
}

func patch(what, kind, body string, flags ...string) []string {
	return append([]string{"patch", what, "--type", kind, "-p", body}, flags...)
}

var disturbances = []disturbance{
	{name: "nothing"},
	{name: "drift", by: [][]string{patch("configmap/GADGET-settings", "merge", `{"data":{"a":"2"}}`)}, want: []string{"configured configmap/GADGET-settings"}},
	{name: "foreign-field", by: [][]string{patch("configmap/GADGET-settings", "merge", `{"data":{"b":"2"},"metadata":{"labels":{"x":"y"}}}`)}},
	{name: "volume", by: [][]string{patch("deployment/GADGET", "json",
		`[{"op":"replace","path":"/spec/template/spec/volumes/0","value":{"name":"data","configMap":{"name":"other"}}}]`)},
		want: []string{"configured deployment/GADGET"}},
	{name: "value-from", by: [][]string{patch("deployment/GADGET", "json",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/env/0","value":{"name":"SIZE","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}}]`)},
		want: []string{"configured deployment/GADGET"}},
	{name: "probe", by: [][]string{patch("deployment/GADGET", "json",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/readinessProbe","value":{"tcpSocket":{"port":80}}}]`)},
		want: []string{"configured deployment/GADGET"}},
	{name: "strategy", by: [][]string{patch("deployment/GADGET", "json", `[{"op":"replace","path":"/spec/strategy","value":{"type":"RollingUpdate"}}]`)},
		want: []string{"configured deployment/GADGET"}},
	{name: "no-item", by: [][]string{patch("deployment/GADGET", "json", `[{"op":"remove","path":"/spec/template/spec/containers/0/env"}]`)},
		want: []string{"configured deployment/GADGET"}},
	{name: "no-key", by: [][]string{patch("configmap/GADGET-settings", "json", `[{"op":"remove","path":"/data"}]`)}, want: []string{"configured configmap/GADGET-settings"}},
	{name: "more-items", by: [][]string{patch("deployment/GADGET", "strategic", `{"spec":{"template":{"spec":{"containers":[
		{"name":"app","env":[{"name":"MORE","value":"1"}]},{"name":"sidecar","image":"nginx"}]}}}}`)}},
	{name: "scaled", by: [][]string{{"scale", "deployment/GADGET", "--replicas=1"}}, want: []string{"configured deployment/GADGET"}},
	{name: "status", by: [][]string{patch("deployment/GADGET", "merge", `{"status":{"collisionCount":1}}`, "--subresource=status")}},
	{name: "same-name", by: [][]string{patch("configmap/GADGET-settings", "merge", `{"data":{"a":"2"}}`, "--field-manager=reconcel")},
		want: []string{"configured configmap/GADGET-settings"}},
	{name: "child-finalizer", by: [][]string{patch("configmap/GADGET-settings", "merge", `{"metadata":{"finalizers":["example.com/held"]}}`)}},
	{name: "more-owners", by: [][]string{patch("configmap/GADGET-settings", "json",
		`[{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"UID"}}]`)}},
	{name: "no-controller", by: [][]string{patch("configmap/GADGET-settings", "json", `[{"op":"replace","path":"/metadata/ownerReferences/0/controller","value":false}]`)},
		want: []string{"configured configmap/GADGET-settings"}},
	{name: "drift-and-keep", by: [][]string{patch("configmap/GADGET-once", "merge", `{"data":{"size":"9"},"metadata":{"labels":{"reconcel.dev/child":"other"}}}`)}},
	{name: "replaced-drift", by: [][]string{{"delete", "configmap/GADGET-again"}, {"create", "configmap", "GADGET-again", "--from-literal=size=1"}}},
	{name: "shrunk", by: [][]string{patch("gadget/GADGET", "merge", `{"spec":{"names":[]}}`)},
		want: []string{"deleted configmap/GADGET-a", "deleted configmap/GADGET-b"}},
	{name: "unpatched", by: [][]string{{"annotate", "gadget/GADGET", "size-"}}, want: []string{"configured gadget/GADGET"}},
	{name: "orphaned", by: [][]string{{"label", "gadget/GADGET", "gadget-"}, patch("configmap/GADGET-orphan", "merge", `{"data":{"a":"2"}}`)},
		want: []string{"configured gadget/GADGET", "deleted configmap/GADGET-a", "deleted configmap/GADGET-again", "deleted configmap/GADGET-b",
			"deleted configmap/GADGET-once", "deleted configmap/GADGET-settings", "deleted deployment/GADGET", "deleted secret/GADGET"}},
	{name: "mark", by: [][]string{{"annotate", "--overwrite", "configmap/GADGET-settings", "reconcel.dev/applied=00112233445566778899aabbccddeeff"}},
		want: []string{"configured configmap/GADGET-settings"}},
	{name: "no-mark", by: [][]string{{"annotate", "configmap/GADGET-settings", "reconcel.dev/applied-"}}, want: []string{"configured configmap/GADGET-settings"}},
	{name: "deleted", by: [][]string{{"delete", "configmap/GADGET-settings"}}, want: []string{"created configmap/GADGET-settings"}},
	{name: "no-label", by: [][]string{{"label", "configmap/GADGET-settings", "reconcel.dev/rule-"}}, want: []string{"configured configmap/GADGET-settings"}},
	{name: "no-owner", by: [][]string{patch("configmap/GADGET-settings", "json", `[{"op":"remove","path":"/metadata/ownerReferences"}]`)},
		want: []string{"configured configmap/GADGET-settings"}},
	{name: "no-managers", by: [][]string{patch("configmap/GADGET-settings", "merge", `{"metadata":{"managedFields":[{}]}}`)},
		want: []string{"configured configmap/GADGET-settings"}},
	{name: "same-value", by: [][]string{{"apply", "--server-side", "--force-conflicts", "-f", "GADGET.yaml"}}},
	{name: "secret", by: [][]string{patch("secret/GADGET", "merge", `{"stringData":{"password":"second"}}`)}, want: []string{"configured secret/GADGET"}},
	{name: "keep", by: [][]string{patch("configmap/GADGET-once", "merge", `{"data":{"size":"9"}}`)}},
	{name: "replace", by: [][]string{patch("gadget/GADGET", "merge", `{"spec":{"size":"2"}}`)},
		want: []string{"configured gadget/GADGET", "replaced configmap/GADGET-again"}},
	{name: "renamed", by: [][]string{patch("gadget/GADGET", "merge", `{"spec":{"names":["b","c"]}}`)},
		want: []string{"created configmap/GADGET-c", "deleted configmap/GADGET-a"}},
	{name: "holder", by: [][]string{{"create", "configmap", "GADGET-held"}, patch("gadget/GADGET", "merge", `{"spec":{"also":"held"}}`)}},
	{name: "adoption", by: [][]string{{"create", "configmap", "GADGET-adopted"}, patch("gadget/GADGET", "merge", `{"spec":{"also":"adopted"}}`)},
		want: []string{"configured configmap/GADGET-adopted"}},
	{name: "orphan", by: [][]string{patch("configmap/GADGET-orphan", "merge", `{"data":{"a":"2"}}`)}, want: []string{"configured configmap/GADGET-orphan"}},
	{name: "patch", by: [][]string{{"annotate", "--overwrite", "gadget/GADGET", "size=9"}}, want: []string{"configured gadget/GADGET"}},
	{name: "paused", by: [][]string{{"annotate", "gadget/GADGET", "reconcel.dev/paused=true"}, patch("configmap/GADGET-settings", "merge", `{"data":{"a":"2"}}`)}},
	{name: "new-finalizer", by: [][]string{{"label", "gadget/GADGET", "guard=yes"}},
		want: []string{"configured gadget/GADGET", "created configmap/GADGET-guarded"}},
	{name: "no-finalizer", labels: ", guard: 'yes'", by: [][]string{patch("gadget/GADGET", "merge", `{"metadata":{"finalizers":[]}}`)},
		want: []string{"configured gadget/GADGET"}},
	{name: "ending", labels: ", guard: 'yes'", by: [][]string{{"delete", "--wait=false", "gadget/GADGET"}},
		want: []string{"deleted configmap/GADGET-guarded"}, later: []string{"configured gadget/GADGET"}},
	{name: "unguarded", labels: ", guard: 'yes'", by: [][]string{{"label", "gadget/GADGET", "guard-"}},
		want: []string{"deleted configmap/GADGET-guarded"}, later: []string{"configured gadget/GADGET"}},
	{name: "other-rules", labels: ", versioned: 'yes'",
		want: []string{"configured configmap/GADGET-moved", "configured configmap/GADGET-version", "deleted serviceaccount/GADGET-former"}},
	{name: "deselected", by: [][]string{{"label", "gadget/GADGET", "gadget-"}},
		want: []string{"configured gadget/GADGET", "deleted configmap/GADGET-a", "deleted configmap/GADGET-again", "deleted configmap/GADGET-b",
			"deleted configmap/GADGET-once", "deleted configmap/GADGET-settings", "deleted deployment/GADGET", "deleted secret/GADGET"}},
}

// TestDiffForetellsWhatRunWrites disturbs a gadget in many ways, and compares the output
// of diff with the writes of run in the audit log.
func TestDiffForetellsWhatRunWrites(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.Options{Users: []string{"reviewer:system:masters", "reader"}})
	r := &reviewer{T: t, cluster: cluster, binary: e2e.Build(t), kubeconfig: cluster.UserKubeconfig(t, "reviewer"), folder: t.TempDir()}
	if cluster.Borrowed() {
		t.Skip("a borrowed cluster has no audit log")
	}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("crd.yaml", gadgetCRD))
	e2e.Kubectl(t, cluster, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
	var gadgets []string
	for _, d := range disturbances {
		gadgets = append(gadgets, "apiVersion: foretell.example.com/v1\nkind: Gadget\nmetadata: {name: "+d.name+", labels: {gadget: 'yes'"+d.labels+"}}\nspec: {size: '1', names: [a, b]}\n")
	}
	e2e.Kubectl(t, cluster, "apply", "-f", r.rules("gadgets.yaml", strings.Join(gadgets, "---\n")))
	before := r.rules("before.yaml", gadgetRules)
	stop := r.run(before)
	r.settled(0, before)
	stop()

	r.rules("same-value.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: same-value-settings, namespace: default}
data: {a: "1"}
`)
	namespace := strings.TrimSpace(e2e.Kubectl(t, cluster, "get", "namespace", "default", "-o", "jsonpath={.metadata.uid}"))
	for _, d := range disturbances {
		for _, call := range d.by {
			args := slices.Clone(call)
			for i := range args {
				args[i] = strings.NewReplacer("GADGET", d.name, "UID", namespace).Replace(args[i])
				if strings.HasSuffix(args[i], ".yaml") {
					args[i] = r.folder + "/" + args[i]
				}
			}
			e2e.Kubectl(t, cluster, args...)
		}
	}
	// A template changes, a kind disappears, and a child moves to another rule.
	after := r.rules("after.yaml", gadgetRules, "version: first", "version: second",
		`  - id: former
    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: "${self.metadata.name}-former"}}
  - id: moved
`, `- name: newcomer
  for: {apiVersion: foretell.example.com/v1, kind: Gadget, selector: {matchLabels: {versioned: "yes"}}}
  children:
  - id: moved
`)
	foretold := r.foretold("-f", after)
	r.reads(foretold, after)
	started := time.Now()
	stop = r.run(after)
	r.settled(4, after) // A name belongs to a foreign object.
	stop()
	written := r.writes(started)
	t.Logf("%d disturbances", len(disturbances))
	for _, d := range disturbances {
		t.Run(d.name, func(t *testing.T) {
			var want []string
			for _, w := range d.want {
				want = append(want, strings.ReplaceAll(w, "GADGET", d.name))
			}
			if diff := cmp.Diff(want, foretold[d.name]); diff != "" {
				t.Errorf("foretold (-want +got):\n%s", diff)
			}
			for _, w := range d.later {
				want = append(want, strings.ReplaceAll(w, "GADGET", d.name))
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, written[d.name]); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
	r.wroteNothing()
}

// reads compares the output for a read-only user, who cannot do dry runs, with the output
// that used them.
func (r *reviewer) reads(foretold map[string][]string, file string) {
	r.Helper()
	e2e.Kubectl(r.T, r.cluster, "create", "clusterrole", "reader", "--verb=get,list", "--resource=*.*")
	e2e.Kubectl(r.T, r.cluster, "create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=reader")
	reader := *r
	reader.kubeconfig = r.cluster.UserKubeconfig(r.T, "reader")
	if diff := cmp.Diff(foretold, reader.foretold("-f", file, "--no-dry-run")); diff != "" {
		r.Errorf("without dry runs (-with +without):\n%s", diff)
	}
	if v := reader.diff("-f", file); v.code != 4 || !strings.Contains(v.stderr, `rejected: configmaps "drift-settings" is forbidden: User "reader" cannot patch`) {
		r.Errorf("dry runs of a reader: exit code %d\n%s", v.code, v.stderr)
	}
}

// run starts run, and returns a function that stops it.
func (r *reviewer) run(file string) (stop func()) {
	r.Helper()
	cmd := exec.Command(r.binary, "run", "--kubeconfig", r.cluster.UserKubeconfig(r.T, "reconcel"), "--listen", "off", "--leader-elect=false", "-f", file)
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			r.Errorf("run: %v", err)
		}
	}
}

// settled waits until diff finds no more differences, except for rejected writes.
func (r *reviewer) settled(code int, file string) {
	r.Helper()
	var last answer
	for range 60 {
		if last = r.diff("-f", file); last.code == code && last.stdout == "" {
			return
		}
		e2e.Rest(r.T, 500*time.Millisecond)
	}
	r.Fatalf("differences remain while run works, exit code %d:\n%s\n%s", last.code, last.stdout, last.stderr)
}

// gadgetOf returns the gadget of an object, derived from the object's name.
func gadgetOf(name string) (gadget string) {
	for _, d := range disturbances {
		if (name == d.name || strings.HasPrefix(name, d.name+"-")) && len(d.name) > len(gadget) {
			gadget = d.name
		}
	}
	return gadget
}

// foretold returns the writes that diff predicts, by gadget. It omits the status, which
// is written as the children become ready.
func (r *reviewer) foretold(args ...string) map[string][]string {
	r.Helper()
	v := r.diff(append(args, "-o", "json")...)
	changes, _ := e2e.Foretold(r.T, []byte(v.stdout))
	return byGadget(changes)
}

// writes returns the writes of run since an instant, by gadget.
func (r *reviewer) writes(since time.Time) map[string][]string {
	r.Helper()
	e2e.Rest(r.T, time.Second) // The audit log lags a little.
	found, err := r.cluster.Requests(func(q devcluster.Request) bool {
		return q.User == "reconcel" && !q.Received.Before(since) && gadgetOf(q.Name) != ""
	})
	if err != nil {
		r.Fatal(err)
	}
	return byGadget(e2e.Done(found))
}

func byGadget(changes []e2e.Change) map[string][]string {
	all := map[string][]string{}
	for _, c := range changes {
		gadget := gadgetOf(c.Name)
		all[gadget] = append(all[gadget], c.Action+" "+strings.TrimSuffix(c.Resource, "s")+"/"+c.Name)
	}
	for gadget := range all {
		slices.Sort(all[gadget])
	}
	return all
}
