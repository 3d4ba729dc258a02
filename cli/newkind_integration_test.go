//go:build integration

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// bench is a namespace with a process whose rules file the test edits.
type bench struct {
	*testing.T
	cluster   *devcluster.Cluster
	client    dynamic.Interface
	namespace string
	file      string
	process   *e2e.Process
}

const noRules = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n"

// newBench starts a process with these rules.
func newBench(t *testing.T, rules string, flags ...string) *bench {
	t.Helper()
	cluster := devcluster.Shared(t)
	config := cluster.Config()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, cluster: cluster, client: client, namespace: fmt.Sprintf("bench-%d", time.Now().UnixNano()), file: filepath.Join(t.TempDir(), "rules.yaml")}
	b.create(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+b.namespace+"}}")
	b.write(rules)
	args := append([]string{"-f", b.file, "--namespace", b.namespace}, flags...)
	b.process = startAs(t, e2e.Build(t), cluster, "reconcel", args...)
	b.process.Runs()
	return b
}

// write replaces the rules file by a rename, as editors do.
func (b *bench) write(rules string) {
	b.Helper()
	text := strings.ReplaceAll(rules, "NAMESPACE", b.namespace)
	if err := os.WriteFile(b.file+"~", []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(b.file+"~", b.file); err != nil {
		b.Fatal(err)
	}
}

// create creates an object as soon as its kind is served.
func (b *bench) create(resource schema.GroupVersionResource, namespace, manifest string) {
	b.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		b.Fatal(err)
	}
	b.soon("create "+u.GetKind(), func() error {
		var err error
		if namespace == "" {
			_, err = b.client.Resource(resource).Create(b.Context(), u, metav1.CreateOptions{})
		} else {
			_, err = b.client.Resource(resource).Namespace(namespace).Create(b.Context(), u, metav1.CreateOptions{})
		}
		return err
	})
}

// soon retries until success, and returns the time of the success.
func (b *bench) soon(what string, try func() error) time.Time {
	b.Helper()
	e2e.Poll(b.T, what, time.Minute, 4*time.Millisecond, try)
	return time.Now()
}

var benchCRDs = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// benchKind is a kind that the test creates while the process runs.
type benchKind string

func (k benchKind) plural() string { return strings.ToLower(string(k)) + "s" }

func (k benchKind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.plural() + ".bench.reconcel.dev", Version: "v1", Resource: k.plural()}
}

func (k benchKind) crd(spec string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[3]s}
spec:
  group: %[3]s
  names: {kind: %[1]s, plural: %[2]s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {%[4]s}}
          status: {type: object, properties: {value: {type: string}}}
`, k, k.plural(), k.resource().Group, spec)
}

// rule is a rule for the kind with a ConfigMap as its child.
func (k benchKind) rule() string {
	return fmt.Sprintf(`- name: %[1]s-NAMESPACE
  for: {apiVersion: %[2]s/v1, kind: %[3]s, namespaces: [NAMESPACE]}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}"}, data: {value: "${self.spec.?value.orValue('none')}"}}
`, k.plural(), k.resource().Group, k)
}

// establish creates the CRD, and returns the time when it is established.
func (b *bench) establish(k benchKind) time.Time {
	b.Helper()
	b.create(benchCRDs, "", k.crd("value: {type: string}"))
	name := k.plural() + "." + k.resource().Group
	b.Cleanup(func() { _, _ = b.cluster.Kubectl("delete", "crd", name, "--wait=false") })
	return b.soon(name+" to be established", func() error {
		u, err := b.client.Resource(benchCRDs).Get(b.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			if entry := c.(map[string]any); entry["type"] == "Established" && entry["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("conditions are %v", list)
	})
}

// example creates an object of the kind.
func (b *bench) example(k benchKind, name string) {
	b.Helper()
	b.create(k.resource(), b.namespace, fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: %s}, spec: {value: x}}", k.resource().Group, k, name))
}

// child waits for the ConfigMap of an object, and returns the time when it existed.
func (b *bench) child(name string) time.Time {
	b.Helper()
	configs := b.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(b.namespace)
	return b.soon("ConfigMap "+name, func() error {
		_, err := configs.Get(b.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("there is none: %w", err)
		}
		return err
	})
}

// TestNewKindWithinASecond adds a rule for a new kind. Either the kind or the rule comes
// first.
func TestNewKindWithinASecond(t *testing.T) {
	const rounds = 10
	b := newBench(t, noRules+benchKind("Never").rule(), "--listen=off")
	all := noRules + benchKind("Never").rule()
	var kindFirst, fileFirst []time.Duration
	for i := range rounds {
		k := benchKind(fmt.Sprintf("Early%d", i))
		established := b.establish(k)
		b.example(k, k.plural())
		all += k.rule()
		b.write(all)
		saved := time.Now()
		kindFirst = append(kindFirst, b.child(k.plural()).Sub(later(established, saved)))

		k = benchKind(fmt.Sprintf("Late%d", i))
		all += k.rule()
		b.write(all)
		b.process.Logs("Kind="+string(k), 30*time.Second)
		e2e.Rest(t, time.Duration(i)*77*time.Millisecond) // The moment varies between two polls.
		b.establish(k)
		b.example(k, k.plural()) // The API server delays a creation until a kind is two seconds old.
		made := time.Now()
		fileFirst = append(fileFirst, b.child(k.plural()).Sub(made))
	}
	for what, took := range map[string][]time.Duration{"the kind is there first": kindFirst, "the rule is there first": fileFirst} {
		slices.Sort(took)
		t.Logf("%s: median %s, worst %s", what, took[rounds/2].Round(time.Millisecond), took[rounds-1].Round(time.Millisecond))
		if took[rounds-1] > time.Second {
			t.Errorf("%s: it took up to %s until the first child was there: %v", what, took[rounds-1], took)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
