package diff

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

// Placeholders for the values of a Secret, as in kubectl diff.
const (
	masked       = "***"
	maskedBefore = "*** (before)"
	maskedAfter  = "*** (after)"
)

// maskSecret hides the values of a Secret in both states, and keeps visible which
// values differ. Either state may be nil.
func maskSecret(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		a, b := secretValues(before, field), secretValues(after, field)
		for key, value := range a {
			other, both := b[key]
			switch {
			case !both:
				a[key] = masked
			case reflect.DeepEqual(value, other):
				a[key], b[key] = masked, masked
			default:
				a[key], b[key] = maskedBefore, maskedAfter
			}
		}
		for key := range b {
			if _, both := a[key]; !both {
				b[key] = masked
			}
		}
	}
}

// secretValues returns the values under a field. It masks a value that is not a map
// as a whole.
func secretValues(object map[string]any, field string) map[string]any {
	switch values := object[field].(type) {
	case nil:
		return nil
	case map[string]any:
		return values
	default:
		object[field] = masked
		return nil
	}
}
