package offline

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// Every object of a cluster has a uid and a creationTimestamp. Offline, placeholders
// stand for them. No cluster assigns such values.
const (
	placeholderUID  = "00000000-0000-0000-0000-" // and 12 digits
	placeholderTime = "1970-01-01T00:00:00Z"
)

// fillIdentity sets placeholders for what the API server would assign to an object.
func fillIdentity(o *files.Object) {
	if o.GetUID() == "" {
		id := identity(o)
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", id.GVK.GroupKind(), id.Namespace, id.Name))
		setMetadata(o, "uid", fmt.Sprintf("%s%x", placeholderUID, sum[:6]))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		setMetadata(o, "creationTimestamp", placeholderTime)
	}
}

func setMetadata(o *files.Object, field, value string) {
	metadata, _ := o.Object["metadata"].(map[string]any) // An object has a name.
	metadata[field] = value
}

// withoutPlaceholderOwner removes a placeholder from the references of a rendered object
// to its owner. With it, the garbage collector would delete an object that a user applies
// from the output.
func withoutPlaceholderOwner(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	if annotations, _ := metadata["annotations"].(map[string]any); isPlaceholder(annotations[rules.AnnotationOwner]) {
		if delete(annotations, rules.AnnotationOwner); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	references, _ := metadata["ownerReferences"].([]any)
	for _, r := range references {
		reference, _ := r.(map[string]any)
		if isPlaceholder(reference["uid"]) {
			delete(reference, "uid")
		}
	}
}

func isPlaceholder(value any) bool {
	text, _ := value.(string)
	return strings.Contains(text, placeholderUID) || strings.Contains(text, placeholderTime)
}

// placeholders returns the fields with placeholders, sorted.
func placeholders(path string, value any) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			found = append(found, placeholders(strings.TrimPrefix(path+"."+key, "."), v)...)
		}
	case []any:
		for i, v := range value {
			found = append(found, placeholders(fmt.Sprintf("%s[%d]", path, i), v)...)
		}
	default:
		if isPlaceholder(value) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}
