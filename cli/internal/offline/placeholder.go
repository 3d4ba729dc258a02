package offline

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/files"
	"reconcel/rules"
)

// Every object of a cluster has a uid and a creationTimestamp. Offline, placeholders
// stand for them: a uid that no cluster assigns, and the time of the rendering.
const placeholderUID = "00000000-0000-0000-0000-" // and 12 digits

func (r *Renderer) placeholderTime() string { return r.time.Format(time.RFC3339) }

// fillIdentity sets placeholders for what the API server would assign to an object.
func (r *Renderer) fillIdentity(o *files.Object) {
	if o.Unstructured.GetUID() == "" {
		setMetadata(o, "uid", PlaceholderUID(identity(o)))
	}
	if created := o.Unstructured.GetCreationTimestamp(); created.IsZero() {
		setMetadata(o, "creationTimestamp", r.placeholderTime())
	}
}

// PlaceholderUID returns the uid of an object that no cluster has assigned one.
func PlaceholderUID(id rules.Identity) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", id.GVK.GroupKind(), id.Namespace, id.Name))
	return fmt.Sprintf("%s%x", placeholderUID, sum[:6])
}

func setMetadata(o *files.Object, field, value string) {
	metadata, _ := o.Unstructured.Object["metadata"].(map[string]any) // An object has a name.
	metadata[field] = value
}

// withoutPlaceholderOwner removes a placeholder from the references of a rendered object
// to its owner. With it, the garbage collector would delete an object that a user applies
// from the output.
func withoutPlaceholderOwner(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	if annotations, _ := metadata["annotations"].(map[string]any); isPlaceholderUID(annotations[rules.AnnotationOwner]) {
		if delete(annotations, rules.AnnotationOwner); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	references, _ := metadata["ownerReferences"].([]any)
	for _, r := range references {
		reference, _ := r.(map[string]any)
		if isPlaceholderUID(reference["uid"]) {
			delete(reference, "uid")
		}
	}
}

// withoutGenerated removes generated values from a rendered Secret, and returns their
// fields. A user who applies the output would make a placeholder the password.
func withoutGenerated(object map[string]any, c *rules.Child) (fields []string) {
	for _, key := range c.GeneratedKeys() {
		unstructured.RemoveNestedField(object, "data", key)
		fields = append(fields, "data."+key)
	}
	if data, _ := object["data"].(map[string]any); len(fields) > 0 && len(data) == 0 {
		delete(object, "data")
	}
	return fields
}

func isPlaceholderUID(value any) bool {
	text, _ := value.(string)
	return strings.Contains(text, placeholderUID)
}

func (r *Renderer) isPlaceholder(value any) bool {
	text, _ := value.(string)
	plain, _ := base64.StdEncoding.DecodeString(text) // The data of a Secret.
	return isPlaceholderUID(text) || strings.Contains(text, r.placeholderTime()) ||
		strings.Contains(string(plain), rules.Generated)
}

// placeholders returns the fields with placeholders, sorted.
func (r *Renderer) placeholders(path string, value any) (found []string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			found = append(found, r.placeholders(strings.TrimPrefix(path+"."+key, "."), v)...)
		}
	case []any:
		for i, v := range value {
			found = append(found, r.placeholders(fmt.Sprintf("%s[%d]", path, i), v)...)
		}
	default:
		if r.isPlaceholder(value) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}
