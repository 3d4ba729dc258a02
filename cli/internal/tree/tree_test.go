package tree

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/output"
	"reconcel/cli/internal/rendered"
	"reconcel/rules"
	"reconcel/rules/source"
)

// now is the current time in the tests, an hour after the creation of all objects.
var now = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Hour)))
	u.SetNamespace("default")
	return u
}

const objects = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d, ownerReferences: [{uid: self, controller: true, kind: Shop, apiVersion: g/v1, name: s}]}, spec: {replicas: 1}, status: {replicas: 1}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, uid: r, annotations: {reconcel.dev/owner: self/Shop.g/default/s}, ownerReferences: [{uid: d}]}, spec: {replicas: 1}, status: {replicas: 1, availableReplicas: 1, readyReplicas: 1, fullyLabeledReplicas: 1}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: copy, uid: c, annotations: {reconcel.dev/owner: self/Shop.g/default/s}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: old, uid: o, annotations: {reconcel.dev/owner: self/Shop.g/default/s},
  managedFields: [{manager: reconcel, operation: Apply, fieldsV1: {f:metadata: {f:annotations: {f:reconcel.dev/owner: {}}}}}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: gone, uid: g, deletionTimestamp: "2030-01-01T11:30:00Z", finalizers: [x.io/y], ownerReferences: [{uid: self}]}}
---
{apiVersion: g/v1, kind: Loop, metadata: {name: loop, uid: l, ownerReferences: [{uid: self}, {uid: l}]}}
`

const self = `{apiVersion: g/v1, kind: Shop, metadata: {name: s, uid: self}, status: {conditions: [{type: Kept, status: "True", message: "ConfigMap/default/old: onDelete is orphan"}]}}`

const shopRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: shop
  for: {apiVersion: g/v1, kind: Shop}
  children:
  - {id: url, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: url}, data: {at: "${ingress.status.host}"}}}
  - {id: ingress, template: {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: in}}}
  - {id: off, when: "false", template: {apiVersion: v1, kind: ConfigMap, metadata: {name: off}}}
  - {id: with, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: with}, data: {off: "${off.metadata.name}"}}}
  - {id: web, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}
  finalize:
  - {id: last, timeout: 1h, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}}
`

// grown returns the tree of the test's cluster.
func grown(t *testing.T, prepare func(b *builder, root *Node, of *unstructured.Unstructured)) *Node {
	t.Helper()
	of := object(t, self)
	created := of.GetCreationTimestamp()
	root := &Node{APIVersion: "g/v1", Kind: "Shop", Namespace: "default", Name: "s", UID: "self", Finding: rendered.Finding{State: "progressing", Message: "1 of 2"}, Created: &created}
	b := newBuilder(of)
	for text := range strings.SplitSeq(objects, "\n---\n") {
		b.add(object(t, text))
	}
	prepare(b, root, of)
	b.grow(root)
	root.sort()
	return root
}

func printed(t *testing.T, root *Node) string {
	t.Helper()
	var out bytes.Buffer
	table := &output.Table{Print: func(text []byte) error { out.Write(text); return nil }}
	if err := Write(table, root, now); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTreeWithoutRules(t *testing.T) {
	root := grown(t, func(b *builder, _ *Node, _ *unstructured.Unstructured) {
		b.unread[unreadKind{schema.GroupKind{Kind: "Pod"}, "default"}] = "list pods: forbidden"
	})
	want := `NAMESPACE   NAME                 STATE         AGE   MESSAGE
default     Shop/s               progressing   60m   1 of 2
default     ├─ConfigMap/old      kept          60m   kept: onDelete is orphan
default     ├─Deployment/web     progressing   60m   0 of 1 updated
default     │ └─ReplicaSet/web-1 ready         60m
default     │   └─Pod            unread        -     list pods: forbidden
default     ├─Loop/loop          ready         60m
default     └─Secret/gone        deleting      60m   held by the finalizer x.io/y
`
	if diff := cmp.Diff(normal(want), normal(printed(t, root))); diff != "" {
		t.Error(diff)
	}
}

// normal makes tables comparable whatever the widths of their columns are.
func normal(table string) string {
	var lines []string
	for line := range strings.Lines(table) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// want adds what the rules render for the test's cluster.
func want(t *testing.T, b *builder, root *Node, of *unstructured.Unstructured) {
	t.Helper()
	wantOf(t, shopRules, b, root, of)
}

// wantOf adds what some rules render.
func wantOf(t *testing.T, text string, b *builder, root *Node, of *unstructured.Unstructured) {
	t.Helper()
	program, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	live := map[string]*unstructured.Unstructured{}
	for _, u := range b.owned[types.UID("self")] {
		live[u.GetKind()+"/"+u.GetName()] = u
	}
	out := rendered.Render(program.Primaries()[0], rules.Input{
		Self: of.Object, Now: now,
		Observed: func(id rules.Identity) (l rules.Live) {
			if u := live[id.GVK.Kind+"/"+id.Name]; u != nil {
				l.Object = u.Object
			}
			return l
		},
		Owned:  func(*rules.Rule, *rules.Child) ([]rules.Live, error) { return nil, nil },
		Lookup: func(*rules.Lookup, rules.Query) ([]map[string]any, error) { return nil, nil },
	})
	for i := range out.Rules {
		b.want(root, &out.Rules[i], rendered.OfObject)
	}
}

func TestTreeWithRules(t *testing.T) {
	root := grown(t, func(b *builder, root *Node, of *unstructured.Unstructured) { want(t, b, root, of) })
	const expected = `NAMESPACE NAME STATE AGE MESSAGE
default Shop/s progressing 60m 1 of 2
default ├─Ingress/in missing - not created yet
default ├─ConfigMap/url waiting - waits for ingress.status.host
default ├─ConfigMap/with excluded - reads off, which is excluded
default ├─Deployment/web progressing 60m 0 of 1 updated
default │ └─ReplicaSet/web-1 ready 60m
default ├─ConfigMap/old kept 60m kept: onDelete is orphan
default ├─Loop/loop ready 60m
default └─Secret/gone deleting 60m held by the finalizer x.io/y`
	if diff := cmp.Diff(expected, normal(printed(t, root))); diff != "" {
		t.Error(diff)
	}
}

func TestChanges(t *testing.T) {
	before := &Node{Kind: "Shop", Name: "s", UID: "1", Finding: rendered.Finding{State: rendered.Ready}, Children: []*Node{
		{Kind: "Pod", Name: "a", UID: "2", Finding: rendered.Finding{State: rendered.Progressing}}, {Kind: "Pod", Name: "b", UID: "3", Finding: rendered.Finding{State: rendered.Ready}}, {Kind: "Pod", Name: "c", Finding: rendered.Finding{State: rendered.Missing}},
	}}
	after := &Node{Kind: "Shop", Name: "s", UID: "1", Finding: rendered.Finding{State: rendered.Ready}, Children: []*Node{
		{Kind: "Pod", Name: "a", UID: "2", Finding: rendered.Finding{State: rendered.Ready}}, {Kind: "Pod", Name: "c", UID: "4", Finding: rendered.Finding{State: rendered.Progressing}},
	}}
	var got []string
	for _, n := range Changes(before, after) {
		got = append(got, n.ref()+" "+string(n.State))
	}
	if diff := cmp.Diff([]string{"Pod/a ready", "Pod/c progressing", "Pod/b deleted"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestObjectsWithSeveralOwners has an object that several resources share, one that another controller made itself an
// owner of, and copies of their annotations.
func TestObjectsWithSeveralOwners(t *testing.T) {
	const more = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, uid: s, annotations: {reconcel.dev/shared: "true", share.reconcel.dev/self: Shop.g/default/s/hash, share.reconcel.dev/other: Shop.g/default/other/hash},
  managedFields: [{manager: reconcel, operation: Apply, fieldsV1: {f:metadata: {f:annotations: {f:reconcel.dev/shared: {}, f:share.reconcel.dev/self: {}, f:share.reconcel.dev/other: {}}}}}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: tracked, uid: t, ownerReferences: [{uid: elsewhere}], annotations: {reconcel.dev/owner: self/Shop.g/default/s},
  managedFields: [{manager: reconcel, operation: Apply, fieldsV1: {f:metadata: {f:annotations: {f:reconcel.dev/owner: {}}}}}]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: copied, uid: x, annotations: {reconcel.dev/shared: "true", share.reconcel.dev/self: Shop.g/default/s/hash}}}
`
	prepare := func(b *builder, _ *Node, _ *unstructured.Unstructured) {
		for text := range strings.SplitSeq(more, "\n---\n") {
			b.add(object(t, text))
		}
	}
	got := printed(t, grown(t, prepare))
	for _, name := range []string{"─ConfigMap/shared ", "─ConfigMap/tracked "} {
		if !strings.Contains(got, name) {
			t.Errorf("%s is missing:\n%s", name, got)
		}
	}
	if strings.Contains(got, "copied") {
		t.Errorf("a copy is in the tree:\n%s", got)
	}

	shared := strings.Replace(shopRules, "  finalize:\n", "  - {id: shared, ifExists: share, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: shared}}}\n  finalize:\n", 1)
	got = printed(t, grown(t, func(b *builder, root *Node, of *unstructured.Unstructured) {
		prepare(b, root, of)
		wantOf(t, shared, b, root, of)
	}))
	if !strings.Contains(got, "─ConfigMap/shared ") {
		t.Errorf("with the rules, the shared object is missing:\n%s", got)
	}
}
