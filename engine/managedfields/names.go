package managedfields

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// A Lost describes entries of managedFields in an apiVersion that the object's CRD no longer
// has. The API server cannot convert the object to it, and rejects every apply, of any manager
// (Kubernetes 1.33 to 1.37: 500 "request to convert CR to an invalid group/version").
type Lost struct {
	APIVersion string
	index      []int // of our own entries
	managers   []string
}

// LostIn returns the entries of an object that name an apiVersion.
func LostIn(object map[string]any, apiVersion string) Lost {
	lost := Lost{APIVersion: apiVersion}
	for i, m := range ManagersOf(object) {
		switch {
		case m.version != apiVersion:
		case m.isOurs():
			lost.index = append(lost.index, i)
		default:
			lost.managers = append(lost.managers, m.name)
		}
	}
	return lost
}

// Managers returns the other managers whose entries name the apiVersion.
func (l Lost) Managers() []string { return l.managers }

// Move returns a JSON patch for this state of an object that moves our own entries to another
// apiVersion, or nil if no entry is ours.
func (l Lost) Move(object map[string]any, to string) ([]byte, error) {
	if len(l.index) == 0 {
		return nil, nil
	}
	var patch []map[string]any
	all := ManagersOf(object)
	for _, i := range l.index {
		at := fmt.Sprintf("/metadata/managedFields/%d/", i)
		patch = append(patch,
			map[string]any{"op": "test", "path": at + "manager", "value": all[i].name},
			map[string]any{"op": "test", "path": at + "apiVersion", "value": l.APIVersion},
			map[string]any{"op": "replace", "path": at + "apiVersion", "value": to})
	}
	return json.Marshal(patch)
}

// isOurs reports whether the manager is one of reconcel's, whatever it does.
func (m manager) isOurs() bool { return m.name == Manager || strings.HasPrefix(m.name, Manager+"/") }
