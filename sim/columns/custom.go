package columns

import (
	"bytes"
	"fmt"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/jsonpath"
)

// Custom returns the columns of one version of a CRD, from its additionalPrinterColumns. Without any, these are the
// name and the age. With an error it returns the columns before the one that is wrong, which the API server shows.
func Custom(printerColumns []any) (Columns, error) {
	if len(printerColumns) == 0 {
		printerColumns = []any{map[string]any{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}}
	}
	columns := []column{name}
	for i, v := range printerColumns {
		printed := part[apiextensionsv1.CustomResourceColumnDefinition](v)
		if printed == nil {
			return Columns{columns}, fmt.Errorf("additionalPrinterColumns[%d] is not a column", i)
		}
		path := jsonpath.New(printed.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + printed.JSONPath + "}"); err != nil {
			return Columns{columns}, fmt.Errorf("additionalPrinterColumns[%d]: jsonPath %q: %w", i, printed.JSONPath, err)
		}
		definition := metav1.TableColumnDefinition{
			Name: printed.Name, Type: printed.Type, Format: printed.Format, Priority: printed.Priority,
			Description: printed.Description,
		}
		if definition.Description == "" {
			definition.Description = "The field " + printed.JSONPath + "."
		}
		columns = append(columns, column{definition, func(r *row) any { return customCell(r, path, printed.Type) }})
	}
	return Columns{columns}, nil
}

// customCell returns the first value at a path, or nil if there is none or it has another type.
func customCell(r *row, path *jsonpath.JSONPath, kind string) any {
	results, err := path.FindResults(r.Object)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	value := results[0][0].Interface()
	switch kind {
	case "string":
		// A value of another type becomes text, and an object JSON.
		var text bytes.Buffer
		if err := path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	case "integer":
		switch n := value.(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
	case "number":
		switch n := value.(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
	case "boolean":
		if b, ok := value.(bool); ok {
			return b
		}
	case "date":
		if s, ok := value.(string); ok {
			var t metav1.Time
			if t.UnmarshalQueryParameter(s) != nil {
				return "<invalid>"
			}
			return r.since(t.Time)
		}
	}
	return nil
}
