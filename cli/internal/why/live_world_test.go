package why

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/output"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	memory "reconcel/sim/world"
)

const rulesHeader = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

// A liveWorld is a cluster in memory in which a controller has applied rules.
type liveWorld struct {
	*testing.T
	*memory.World
	loaded *rules.Loaded
	kinds  *sim.Kinds
}

func compiled(t *testing.T, text string) *rules.Loaded {
	t.Helper()
	loaded := rules.Compile([]source.File{{Name: "rules.yaml", Data: []byte(rulesHeader + text)}})
	if err := loaded.Errors.Err(); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// liveIn settles a cluster with these rules and objects.
func liveIn(t *testing.T, text string, objects ...string) *liveWorld {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	loaded := compiled(t, text)
	w, err := memory.New(memory.Options{Program: loaded.Program, Kinds: kinds})
	if err != nil {
		t.Fatal(err)
	}
	l := &liveWorld{t, w, loaded, kinds}
	for _, object := range objects {
		l.put(object)
	}
	l.settle()
	return l
}

func (l *liveWorld) put(text string) {
	l.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		l.Fatal(err)
	}
	if _, err := l.Cluster().Put(u); err != nil {
		l.Fatal(err)
	}
}

func (l *liveWorld) settle() {
	l.Helper()
	if err := l.Settle(l.Context()); err != nil {
		l.Fatal(err)
	}
}

var (
	configMaps = runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	accounts   = runtimeschema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
)

// patch changes an object as a user.
func (l *liveWorld) patch(of runtimeschema.GroupVersionResource, name, text string) {
	l.Helper()
	all := l.Cluster().Client("user").Resource(of).Namespace("default")
	if _, err := all.Patch(l.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
		l.Fatal(err)
	}
}

// deletes deletes an object as a user.
func (l *liveWorld) deletes(of runtimeschema.GroupVersionResource, name string) {
	l.Helper()
	if err := l.Cluster().Client("user").Resource(of).Namespace("default").Delete(l.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
}

// why returns what the command prints.
func (l *liveWorld) why(namespace, object, path string) string {
	l.Helper()
	target, _ := cluster.ParseTarget(object)
	r := &Reader{Source: change.Source{
		Rules: l.loaded, Schemas: schema.Builtin(), Local: true, Progress: output.StartProgress(&strings.Builder{}),
		Cluster: &cluster.Cluster{Client: l.Cluster().Client("reader"), Kinds: memory.KindsOf(l.kinds)},
	}}
	answer, err := r.Ask(l.Context(), Question{Target: target, Namespace: namespace, Path: path})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(answer.Text(l.Now()))
}

// says checks lines of what the command prints.
func (l *liveWorld) says(object, path string, patterns ...string) {
	l.Helper()
	l.saysIn("default", object, path, patterns...)
}

func (l *liveWorld) saysIn(namespace, object, path string, patterns ...string) {
	l.Helper()
	got := l.why(namespace, object, path)
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(got) {
			l.Errorf("why %s %s has no line %s:\n%s", object, path, p, got)
		}
	}
}

const sizes = `- name: web
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {web: "true"}}}
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-config"}, data: {size: "${self.metadata.labels.size}", fixed: "1"}}}
  - {id: kept, onChange: keep, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {size: "${self.metadata.labels.size}"}}}
  - {id: optional, when: self.metadata.labels.size == "1", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: optional}, data: {a: b}}}
`

const web = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: default, labels: {web: "true", size: "1"}, finalizers: [x.io/hold]}}`

func TestAFieldThatDiffersIsNotInSync(t *testing.T) {
	t.Run("drift", func(t *testing.T) {
		l := liveIn(t, sizes, web)
		l.says("configmap/web-config", "data.size", `^In cluster: +"1", in sync$`)
		l.patch(configMaps, "web-config", `{"data":{"size":"7"}}`)
		l.says("configmap/web-config", "data.size", `^In cluster: +"7", drift to "1"$`)
	})
	t.Run("the resource is paused", func(t *testing.T) {
		l := liveIn(t, sizes, web)
		l.patch(accounts, "web", `{"metadata":{"annotations":{"reconcel.dev/paused":"true"},"labels":{"size":"2"}}}`)
		l.says("configmap/web-config", "data.size", `^Value: +"2"$`, `^In cluster: +"1", paused$`)
		l.says("configmap/web-config", "data.fixed", `^In cluster: +"1", in sync$`)
	})
	t.Run("onChange: keep", func(t *testing.T) {
		l := liveIn(t, sizes, web)
		l.says("configmap/kept", "data.size", `^In cluster: +"1", in sync$`)
		l.patch(accounts, "web", `{"metadata":{"labels":{"size":"2"}}}`)
		l.says("configmap/kept", "data.size", `^Value: +"2"$`, `^In cluster: +"1", kept$`)
	})
	t.Run("the resource is being deleted", func(t *testing.T) {
		l := liveIn(t, sizes, web)
		l.patch(accounts, "web", `{"metadata":{"labels":{"size":"2"}}}`)
		l.deletes(accounts, "web")
		l.says("configmap/web-config", "data.size", `^Value: +"2"$`, `^In cluster: +"1", being deleted$`)
		l.says("configmap/web-config", "data.fixed", `^In cluster: +"1", in sync$`)
	})
	t.Run("the rule fails", func(t *testing.T) {
		l := liveIn(t, strings.Replace(sizes, "  children:\n", "  validate: [{expression: self.metadata.labels.size != \"2\", message: no two}]\n  children:\n", 1), web)
		l.patch(accounts, "web", `{"metadata":{"labels":{"size":"2"}}}`)
		l.says("configmap/web-config", "", `^State: +failed: .*no two`)
	})
}

// TestAFieldThatIsNotWrittenDiffers asks about new rules, which wait for a kind that the API server does not serve.
func TestAFieldThatIsNotWrittenDiffers(t *testing.T) {
	l := liveIn(t, sizes, web)
	l.loaded = compiled(t, sizes+"  - {id: none, template: {apiVersion: apps/v1, kind: None, metadata: {name: none}}}\n")
	l.patch(accounts, "web", `{"metadata":{"labels":{"size":"2"}}}`)
	l.says("configmap/web-config", "data.size", `^Value: +"2"$`, `^In cluster: +"1", differs: .*kind None`)
	l.says("configmap/web-config", "data.fixed", `^In cluster: +"1", in sync$`)
}

// TestAJobThatIsGoneIsNotInSync has a Job that has finished, and that a user has deleted.
func TestAJobThatIsGoneIsNotInSync(t *testing.T) {
	l := liveIn(t, `- name: web
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {web: "true"}}}
  children:
  - id: job
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: job}
      spec:
        backoffLimit: 3
        template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}
`, web)
	l.says("job/job", "spec.backoffLimit", `^In cluster: +3, in sync$`)
	if err := l.Cluster().MarkReady(runtimeschema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "default", "job"); err != nil {
		t.Fatal(err)
	}
	l.settle()
	l.deletes(runtimeschema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "job")
	l.settle()
	l.says("job/job", "spec.backoffLimit", `^State: +done: `, `^Value: +3$`, `^In cluster: +none, gone$`)
}

func TestWhoHasAChild(t *testing.T) {
	t.Run("a name that another writer has", func(t *testing.T) {
		l := liveIn(t, sizes, web, `{apiVersion: v1, kind: ConfigMap, metadata: {name: web-config, namespace: default}, data: {size: "9"}}`)
		l.says("configmap/web-config", "data.size", `^Child: +config of ServiceAccount/default/web, rule web$`, `^State: +failed: the name is taken: it exists`, `^Value: +"1"$`)
	})
	t.Run("a name that another controller has", func(t *testing.T) {
		l := liveIn(t, sizes, web, `{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: default, uid: x}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: web-config, namespace: default, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: other, uid: x, controller: true}]}}`)
		l.says("configmap/web-config", "", `^Child: +config of ServiceAccount/default/web, rule web$`, `^State: +failed: the name is taken: it exists, and is controlled by ConfigMap other`)
	})
	t.Run("a shared object", func(t *testing.T) {
		l := liveIn(t, `- name: web
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {web: "true"}}}
  children:
  - {id: shared, ifExists: share, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}, data: {a: b}}}
`, web, strings.Replace(web, "name: web,", "name: other,", 1))
		l.says("configmap/shared", "data.a", `^Child: +shared of ServiceAccount/default/(web|other), rule web$`, `^In cluster: +"b", in sync$`)
	})
	t.Run("a child of a cluster-scoped resource", func(t *testing.T) {
		l := liveIn(t, `- name: team
  for: {apiVersion: v1, kind: Namespace, selector: {matchLabels: {team: "true"}}}
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: b}}}
`, `{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: "true"}}}`)
		l.saysIn("shop", "configmap/config", "data.a", `^Child: +config of Namespace/shop, rule team$`, `^In cluster: +"b", in sync$`)
	})
	const zones = `- name: zones
  for: cluster
  allow: {namespaces: [default]}
  children:
  - {id: zones, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: zones, namespace: default}, data: {a: b}}}
`
	t.Run("a child of the cluster", func(t *testing.T) {
		l := liveIn(t, zones)
		l.says("configmap/zones", "data.a", `^Child: +zones of ConfigMap/kube-system/reconcel-bundle-zones, rule zones$`, `^State: +ready$`, `^In cluster: +"b", in sync$`)
		l.patch(configMaps, "zones", `{"data":{"a":"c"}}`)
		l.says("configmap/zones", "data.a", `^In cluster: +"c", drift to "b"$`)
		l.deletes(configMaps, "zones")
		l.says("configmap/zones", "data.a", `^Child: +zones of ConfigMap/kube-system/reconcel-bundle-zones, rule zones$`, `^State: +missing`)
	})
	t.Run("no resource", func(t *testing.T) {
		l := liveIn(t, sizes)
		if got, want := l.why("default", "configmap/x", ""), "error: configmap/x is not rendered: there are no resources of the rules"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := l.why("default", "secret/x", ""), "error: secret/x: no rule is for that kind, and no rule renders it"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestAResourceThatIsAChild asks about objects of a kind that one rule makes and another one is for.
func TestAResourceThatIsAChild(t *testing.T) {
	const chain = `- name: first
  for: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {web: "true"}}}
  children:
  - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-config", labels: {next: "true"}}, data: {size: "${self.metadata.labels.size}"}}}
- name: second
  for: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {next: "true"}}}
  patch: {metadata: {annotations: {patched: "${self.metadata.name}"}}}
  children:
  - {id: secret, template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}"}}}
`
	const users = `{apiVersion: v1, kind: ConfigMap, metadata: {name: plain, namespace: default, labels: {next: "true"}}, data: {size: "9"}}`
	const child = `^Child: +config of ServiceAccount/default/web, rule first$`
	l := liveIn(t, chain, web, users)
	l.says("configmap/web-config", "data.size", child, `^Value: +"1"$`, `^In cluster: +"1", in sync$`, `self.metadata.labels.size = "1"`)
	l.says("configmap/web-config", "metadata.annotations.patched", `^Value: +"web-config"$`, `^In cluster: +"web-config", in sync$`, `self.metadata.name = "web-config"`)
	l.says("configmap/web-config", "", child, `^State: +ready$`, `^Children:$`, `secret`)
	l.says("configmap/plain", "data.size", `^In cluster: +"9", not set by the rules$`)
	l.says("configmap/plain", "", `^Children:$`)
	if got, want := l.why("default", "configmap/none", ""), "error: configmap/none not found in namespace default"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.deletes(configMaps, "web-config")
	l.says("configmap/web-config", "data.size", child, `^State: +missing`, `^Value: +"1"$`)
	l.put(strings.Replace(users, "plain", "web-config", 1))
	l.says("configmap/web-config", "data.size", child, `^State: +failed: the name is taken`, `^Value: +"1"$`)
}

// TestASecretIsWithheld has a resource that is a Secret.
func TestASecretIsWithheld(t *testing.T) {
	l := liveIn(t, `- name: copies
  for: {apiVersion: v1, kind: Secret, selector: {matchLabels: {copied: "true"}}}
  children:
  - {id: copy, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy}, data: {p: "${self.data.password}"}}}
`, `{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: default, labels: {copied: "true"}}, data: {password: aHVudGVyMg==}}`)
	l.says("secret/db", "data.password", `^Value: +\*\*\* \(withheld\)$`, `^In cluster: +\*\*\* \(withheld\), not set by the rules$`)
	l.says("configmap/copy", "data.p", `^Value: +\*\*\* \(withheld\)$`, `^In cluster: +\*\*\* \(withheld\), in sync$`, `self.data.password = \*\*\* \(withheld\)$`)
}
