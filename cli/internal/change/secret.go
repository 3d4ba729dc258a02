package change

import (
	"crypto/sha256"
	"fmt"
	"maps"
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

// digestValues returns a digest of the values of a Secret.
func digestValues(secret map[string]any) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q", secret["data"], secret["stringData"])) // fmt sorts maps.
}

// maskSecret hides the values of a Secret in both states, and keeps visible which
// values differ. Either state may be nil.
func maskSecret(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		a, b := secretValues(before, field), secretValues(after, field)
		old := maps.Clone(a)
		for key, value := range a {
			if a[key] = masked; b[key] != nil && !reflect.DeepEqual(value, b[key]) {
				a[key] = maskedBefore
			}
		}
		for key, value := range b {
			if b[key] = masked; old[key] != nil && !reflect.DeepEqual(value, old[key]) {
				b[key] = maskedAfter
			}
		}
	}
}

// secretValues returns the values under a field. It masks a value that is not a map
// as a whole.
func secretValues(object map[string]any, field string) map[string]any {
	values, isMap := object[field].(map[string]any)
	if !isMap && object[field] != nil {
		object[field] = masked
	}
	return values
}
