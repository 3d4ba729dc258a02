package timeline

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/fields"
	"reconcel/engine/managedfields"
)

// A field is a value in an object.
type field struct {
	path  []string
	value any
}

// renderedFields returns the fields with single values that the rules render, except
// metadata and what is in lists: numbers first, and then those near the top.
func renderedFields(object map[string]any) (all []field) {
	set := managedfields.ChildEntry(object).Set()
	var walk func(path []string, value any)
	walk = func(path []string, value any) {
		entries, isMap := value.(map[string]any)
		if !isMap {
			if _, isList := value.([]any); !isList && value != nil && set.Has(path...) {
				all = append(all, field{path, value})
			}
			return
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			if len(path) > 0 || !slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, key) {
				walk(append(slices.Clone(path), key), entries[key])
			}
		}
	}
	walk(nil, object)
	slices.SortStableFunc(all, func(a, b field) int { return a.rank() - b.rank() })
	return all
}

func (f field) rank() int {
	if _, isNumber := f.value.(int64); isNumber {
		return 0
	}
	return len(f.path)
}

// altered returns another value of the same type.
func altered(gk runtimeschema.GroupKind, value any) any {
	switch v := value.(type) {
	case int64:
		return v + 1
	case float64:
		return v + 1
	case bool:
		return !v
	case string:
		if gk == (runtimeschema.GroupKind{Kind: "Secret"}) {
			return base64.StdEncoding.EncodeToString([]byte("changed"))
		}
		return v + "-changed"
	}
	return value
}

// mostFields is how many changed fields a step names.
const mostFields = 6

// differences returns the fields that differ between two objects, as text. It omits those that
// change with every write.
func differences(before, after map[string]any) (all []string) {
	for _, f := range fields.Changed(before, after) {
		if f.Path != "metadata.resourceVersion" && f.Path != "metadata.generation" {
			all = append(all, f.Path+": "+f.Values)
		}
	}
	if more := len(all) - mostFields; more > 0 {
		all = append(all[:mostFields], fmt.Sprintf("and %d more", more))
	}
	return all
}
