package columns

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Columns are those of the tables of one kind.
type Columns struct {
	columns []column
}

// column is one column, and how its cells are made.
type column struct {
	metav1.TableColumnDefinition
	cell func(*row) any
}

// Of returns the columns of a built-in kind. A kind without columns of its own has a name and a creation time.
func Of(gk schema.GroupKind) Columns {
	if columns, ok := builtin[gk.Group][gk.Kind]; ok {
		return Columns{columns}
	}
	return Columns{[]column{name, createdAt}}
}

// Table returns the table of the objects of a list. The metadata of the list is the caller's.
func (c Columns) Table(
	list []*unstructured.Unstructured, now time.Time, include metav1.IncludeObjectPolicy,
) *metav1.Table {
	table := c.empty()
	for _, object := range list {
		table.Rows = append(table.Rows, c.row(&row{Unstructured: object, list: list, now: now}, include))
	}
	return table
}

// TableOfOne returns the table of an object that is not part of a list, as of a get or of an event of a watch. Only
// a list shows which StorageClass is the default.
func (c Columns) TableOfOne(
	object *unstructured.Unstructured, now time.Time, include metav1.IncludeObjectPolicy,
) *metav1.Table {
	table := c.empty()
	table.ResourceVersion = object.GetResourceVersion()
	table.Rows = append(table.Rows, c.row(&row{Unstructured: object, now: now}, include))
	return table
}

func (c Columns) empty() *metav1.Table {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	table.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Table"))
	for _, column := range c.columns {
		table.ColumnDefinitions = append(table.ColumnDefinitions, column.TableColumnDefinition)
	}
	return table
}

func (c Columns) row(r *row, include metav1.IncludeObjectPolicy) metav1.TableRow {
	out := metav1.TableRow{Conditions: completion(r)}
	for _, column := range c.columns {
		out.Cells = append(out.Cells, column.cell(r))
	}
	switch include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		out.Object = runtime.RawExtension{Object: r.Unstructured}
	default:
		partial := meta.AsPartialObjectMetadata(r.Unstructured)
		partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
		out.Object = runtime.RawExtension{Object: partial}
	}
	return out
}
