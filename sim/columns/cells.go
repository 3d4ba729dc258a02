package columns

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// The API server shows these where a value is missing.
const (
	none    = "<none>"
	unset   = "<unset>"
	unknown = "<unknown>"
)

// cell is how the cells of a column are made, and what they mean.
type cell struct {
	meaning string
	value   func(*row) any
}

func newColumn(name, kind string, c cell) column {
	return column{metav1.TableColumnDefinition{Name: name, Type: kind, Description: c.meaning}, c.value}
}

func text(name string, c cell) column    { return newColumn(name, "string", c) }
func integer(name string, c cell) column { return newColumn(name, "integer", c) }
func boolean(name string, c cell) column { return newColumn(name, "boolean", c) }

// naming returns the column that has the name of the object.
func naming(c column) column {
	c.Format = "name"
	return c
}

// wide returns a column that kubectl shows only with -o wide.
func wide(c column) column {
	c.Priority = 1
	return c
}

// These columns are the same in most kinds.
var (
	name      = naming(text("Name", value("metadata.name")))
	age       = text("Age", sinceOr("metadata.creationTimestamp", unknown))
	createdAt = newColumn("Created At", "date", cell{"The time of its creation.", func(r *row) any {
		return r.GetCreationTimestamp().UTC().Format(time.RFC3339)
	}})
)

// made returns cells that are made of the value of a field, or something else where it is missing.
func made(path string, other any, of func(*row, any) any) cell {
	return cell{"The field " + path + ".", func(r *row) any {
		if v := r.value(path); v != nil {
			return of(r, v)
		}
		return other
	}}
}

// orElse returns cells with the value of a field, or something else where it is missing.
func orElse(path string, other any) cell {
	return made(path, other, func(_ *row, v any) any { return v })
}

func value(path string) cell  { return orElse(path, "") }
func number(path string) cell { return orElse(path, int64(0)) }

// nonEmpty returns cells with a text, or something else where it is missing or empty.
func nonEmpty(path, other string) cell {
	return made(path, other, func(_ *row, v any) any {
		if v == "" {
			return other
		}
		return v
	})
}

// textOr returns cells with a number or text as text.
func textOr(path, other string) cell {
	return made(path, other, func(_ *row, v any) any { return fmt.Sprint(v) })
}

// sinceOr returns cells with the time since a point in time.
func sinceOr(path, other string) cell {
	return made(path, other, func(r *row, _ any) any { return r.since(r.time(path)) })
}

// quantity returns cells with a quantity in its canonical form.
func quantity(path, other string) cell {
	return made(path, other, func(_ *row, v any) any { return canonical(v) })
}

func canonical(v any) string {
	q, err := resource.ParseQuantity(fmt.Sprint(v))
	if err != nil {
		return "0"
	}
	return q.String()
}

// joined returns cells with all values at a path.
func joined(path, other string) cell {
	return made(path, other, func(r *row, _ any) any { return strings.Join(r.texts(path), ",") })
}

// size returns cells with the number of elements of lists or maps.
func size(paths ...string) cell {
	return cell{"The number of elements in " + strings.Join(paths, " and ") + ".", func(r *row) any {
		n := 0
		for _, path := range paths {
			elements, _, _ := unstructured.NestedFieldNoCopy(r.Object, strings.Split(path, ".")...)
			switch v := elements.(type) {
			case []any:
				n += len(v)
			case map[string]any:
				n += len(v)
			}
		}
		return int64(n)
	}}
}

// ratio returns cells such as 2/3.
func ratio(part, all string) cell {
	return cell{"The fields " + part + " and " + all + ".", func(r *row) any {
		return fmt.Sprintf("%d/%d", r.number(part), r.number(all))
	}}
}

// pair returns cells such as Kind/name, or something else where the latter is missing.
func pair(first, second, other string) cell {
	return made(second, other, func(r *row, v any) any { return fmt.Sprintf("%s/%s", r.text(first), v) })
}

// pairs returns cells with labels or annotations.
func pairs(path string) cell {
	return made(path, none, func(_ *row, v any) any {
		set := labels.Set{}
		m, _ := v.(map[string]any)
		for key, value := range m {
			set[key] = fmt.Sprint(value)
		}
		return labels.FormatLabels(set)
	})
}

// selector returns cells with a selector of labels.
func selector(path string) cell {
	return made(path, none, func(_ *row, v any) any {
		return metav1.FormatLabelSelector(part[metav1.LabelSelector](v))
	})
}

// firstOf joins the first elements of a list, and counts the others.
func firstOf(most int, list []string, separator string) string {
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(list[:most], separator), len(list)-most)
}

// distinct returns a list in order and without duplicates.
func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
