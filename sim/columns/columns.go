// Package columns is temporary.
package columns

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"time"
)

type Columns struct{}

func Of(gk schema.GroupKind) Columns { return Columns{} }
func Custom([]any) (Columns, error)  { return Columns{}, nil }
func (c Columns) Table(objects []*unstructured.Unstructured, now time.Time, include metav1.IncludeObjectPolicy) *metav1.Table {
	t := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string"}}}
	for _, o := range objects {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: []any{o.GetName()}, Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}, ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), Namespace: o.GetNamespace()}}}})
	}
	return t
}
