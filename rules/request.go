package rules

import (
	"crypto/sha256"
	"encoding/hex"
)

// longestRequest is the length of the longest value of AnnotationReconcileAt that is copied to children.
const longestRequest = 64

// RequestOf returns which value of AnnotationReconcileAt a primary has, as its children get it in
// AnnotationReconciledAt: as it is, or a digest if it is long. It returns "" if nothing is asked for.
func RequestOf(primary map[string]any) string {
	value, _ := mapAt(primary, "metadata", "annotations")[AnnotationReconcileAt].(string)
	if len(value) <= longestRequest {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:8])
}
