package columns_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	rulesschema "reconcel/rules/schema"
	"reconcel/sim/columns"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func objects(t *testing.T, texts ...string) (list []*unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

func namesOf(table *metav1.Table) (names []string) {
	for _, column := range table.ColumnDefinitions {
		names = append(names, column.Name)
	}
	return names
}

func TestKindsWithoutColumns(t *testing.T) {
	list := objects(t, `{metadata: {name: a, creationTimestamp: "2026-01-01T11:59:00Z"}}`)
	table := columns.Of(schema.GroupKind{Kind: "LimitRange"}).Table(list, now, "")
	if diff := cmp.Diff([]string{"Name", "Created At"}, namesOf(table)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"a", "2026-01-01T11:59:00Z"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
	custom, err := columns.Custom(nil)
	if err != nil {
		t.Fatal(err)
	}
	table = custom.Table(list, now, "")
	if diff := cmp.Diff([]string{"Name", "Age"}, namesOf(table)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"a", "60s"}, table.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}

// TestTableAsJSON shows what a client gets.
func TestTableAsJSON(t *testing.T) {
	list := objects(t, `{apiVersion: v1, kind: ServiceAccount,
		metadata: {name: a, namespace: b, creationTimestamp: "2026-01-01T11:00:00Z"}}`)
	of := columns.Of(schema.GroupKind{Kind: "ServiceAccount"})
	for include, want := range map[metav1.IncludeObjectPolicy]string{
		metav1.IncludeObject: `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"creationTimestamp":"2026-01-01T11:00:00Z","name":"a","namespace":"b"}}`,
		metav1.IncludeMetadata: `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` +
			`"metadata":{"name":"a","namespace":"b","creationTimestamp":"2026-01-01T11:00:00Z"}}`,
		metav1.IncludeNone: "null",
	} {
		data, err := json.Marshal(of.Table(list, now, include).Rows)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(data); got != `[{"cells":["a","60m"],"object":`+want+`}]` {
			t.Errorf("%s: %s", include, got)
		}
	}
	data, err := json.Marshal(of.Table(nil, now, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"kind":"Table","apiVersion":"meta.k8s.io/v1"`, `"rows":[]`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("an empty table has no %s: %s", part, data)
		}
	}
}

// TestSeveralDefaultStorageClasses shows that the newest one counts, then the first by name.
func TestSeveralDefaultStorageClasses(t *testing.T) {
	class := func(name, created string) string {
		return `{metadata: {name: ` + name + `, creationTimestamp: "` + created + `", annotations: {
			storageclass.kubernetes.io/is-default-class: "true"}}}`
	}
	list := objects(t, class("a", "2024-01-01T00:00:00Z"), class("c", "2025-01-01T00:00:00Z"), class("b", "2025-01-01T00:00:00Z"))
	of := columns.Of(schema.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"})
	var names []any
	for _, row := range of.Table(list, now, "").Rows {
		names = append(names, row.Cells[0])
	}
	if diff := cmp.Diff([]any{"a", "c", "b (default)"}, names); diff != "" {
		t.Error(diff)
	}
	if got := of.TableOfOne(list[2], now, "").Rows[0].Cells[0]; got != "b" {
		t.Errorf("alone it is %q", got)
	}
}

// TestCells has what a control plane does not accept, or makes only with more effort.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		kind   schema.GroupKind
		object string
		want   []any
	}{
		{schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"},
			`{metadata: {name: a}, spec: {expirationSeconds: 60}, status: {certificate: AAAA, conditions: [{type: Approved}]}}`,
			[]any{"a", "<unknown>", "<none>", "", "60s", "Approved,Issued"}},
		{schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"},
			`{metadata: {name: a}, status: {conditions: [{type: Denied}, {type: Approved}, {type: Failed}]}}`,
			[]any{"a", "<unknown>", "<none>", "", "<none>", "Denied,Failed"}},
		{schema.GroupKind{Group: "networking.k8s.io", Kind: "IPAddress"},
			`{metadata: {name: 10.0.0.1}, spec: {parentRef: {group: apps, resource: things, namespace: web, name: x}}}`,
			[]any{"10.0.0.1", "things.apps/web/x"}},
		{schema.GroupKind{Group: "networking.k8s.io", Kind: "IPAddress"}, `{metadata: {name: 10.0.0.1}}`, []any{"10.0.0.1", "<none>"}},
		{schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
			`{metadata: {name: a}, spec: {metrics: [{type: New}], scaleTargetRef: {kind: X, name: x}, maxReplicas: 2}}`,
			[]any{"a", "X/x", "<unknown type>", "<unset>", float64(2), int64(0), "<unknown>"}},
		{schema.GroupKind{Group: "autoscaling", Kind: "Scale"}, `{metadata: {name: a}, spec: {replicas: 2}, status: {replicas: 1}}`,
			[]any{"a", float64(2), float64(1), "<unknown>"}},
	} {
		row := columns.Of(c.kind).TableOfOne(objects(t, c.object)[0], now, "").Rows[0]
		if diff := cmp.Diff(c.want, row.Cells); diff != "" {
			t.Errorf("%s: %s", c.object, diff)
		}
	}
}

// TestObjectsOfAnotherForm requires a table of objects whose fields are missing or have other types.
func TestObjectsOfAnotherForm(t *testing.T) {
	for _, kind := range rulesschema.Builtin().Kinds() {
		for _, value := range []any{"x", int64(1), []any{"x", nil}, []any{map[string]any{"type": int64(1)}}, map[string]any{"hard": nil}} {
			u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}
			u.SetGroupVersionKind(kind.GVK)
			for _, key := range []string{"spec", "status", "webhooks", "data", "subsets", "endpoints", "ports", "subjects",
				"series", "revision"} {
				u.Object[key] = value
			}
			table := columns.Of(kind.GVK.GroupKind()).TableOfOne(u, now, "")
			if len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
				t.Errorf("%s: %d cells", kind.GVK, len(table.Rows[0].Cells))
			}
		}
	}
}

func TestInvalidPrinterColumns(t *testing.T) {
	for want, column := range map[string]any{
		`additionalPrinterColumns[1]: jsonPath ".a[": unterminated array`: map[string]any{"name": "B", "jsonPath": ".a["},
		`additionalPrinterColumns[1] is not a column`:                     "x",
	} {
		of, err := columns.Custom([]any{map[string]any{"name": "A", "type": "string", "jsonPath": ".a"}, column})
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if diff := cmp.Diff([]string{"Name", "A"}, namesOf(of.Table(nil, now, ""))); diff != "" {
			t.Error(diff)
		}
	}
}
