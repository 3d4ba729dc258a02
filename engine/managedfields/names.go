package managedfields

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The field managers of reconcel.
const (
	// Manager writes children, and status where it is a subresource.
	Manager = "reconcel"
	// StatusManager writes the status of a kind without the subresource. Such an
	// object may also be a child of another rule, and an apply removes the fields that
	// the same manager set before and no longer applies.
	StatusManager = "reconcel/status"
)

// PatchManager returns the manager of a rule's patches of its primary. Each rule has
// its own, because an apply removes the fields that the same manager set before and no
// longer applies.
func PatchManager(rule string) string {
	manager := Manager + "/" + rule
	if manager == StatusManager {
		return manager + "/patch" // A rule may have the name status.
	}
	return manager
}

// RuleOfPatch returns the rule whose patches of primaries a manager writes.
func RuleOfPatch(manager string) (rule string, patches bool) {
	if manager == StatusManager || IsAnnotationManager(manager) {
		return "", false
	}
	rule, patches = strings.CutPrefix(manager, Manager+"/")
	return strings.TrimSuffix(rule, "/patch"), patches
}

// annotationManager begins the managers of AnnotationManager. No rule has a dot in its name.
const annotationManager = StatusManager + "."

// AnnotationManager returns the manager of the annotation in which an installation reports
// the status of a primary. Each installation has its own, because one whose rules do not ask
// for the annotation must not remove that of another one.
func AnnotationManager(installation string) string {
	sum := sha256.Sum256([]byte(installation))
	return annotationManager + hex.EncodeToString(sum[:4])
}

// IsAnnotationManager reports whether a manager is that of an installation's annotation.
func IsAnnotationManager(manager string) bool { return strings.HasPrefix(manager, annotationManager) }
