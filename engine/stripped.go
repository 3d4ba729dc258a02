package engine

import (
	"fmt"
	"slices"
	"strings"

	"reconcel/engine/watch"
	"reconcel/rules"
)

// Admission may change what reconcel sends, and the API server accepts the rest. An object without reconcel's marks
// would not be recognised, and a primary without a finalizer would leave objects behind. No event follows: the answer
// to the write is the only sign.

// A strippedError means that admission has removed or changed marks of ours.
type strippedError struct {
	object string // Kind/namespace/name
	marks  []string
}

func (e *strippedError) Error() string {
	return fmt.Sprintf("an admission policy or webhook removed or changed %s of %s, which reconcel needs; "+
		"exclude the requests of reconcel from that policy or webhook", strings.Join(e.marks, ", "), e.object)
}

// stripped returns the error of a write whose answer lacks marks, or nil if it lacks none.
func stripped(object string, marks []string) error {
	if len(marks) == 0 {
		return nil
	}
	err := &strippedError{object, marks}
	return &terminalError{reasonRejected, forbiddenRetry, &explainedError{err.Error(), err}}
}

// lostMarks returns the marks that the answer to an apply of an object lacks.
func (p *pass) lostMarks(d *rules.Desired, answer *watch.Object) (lost []string) {
	if mark, kept := ownerMark(d, p.req, answer); !kept {
		lost = append(lost, mark)
	}
	for _, mark := range []struct {
		key  string
		kept bool
	}{
		{"label " + rules.LabelRule, answer.Rule() == d.Child.Rule.Name},
		{"label " + rules.LabelChild, answer.Child() == d.Child.ID},
		{"annotation " + rules.AnnotationApplied, carriesRendering(answer, d)},
		{"annotation " + rules.AnnotationIndex, !moved(d, answer)},
		{"annotation " + rules.AnnotationInstallation, answer.GetAnnotations()[rules.AnnotationInstallation] == p.engine.installation},
	} {
		if !mark.kept {
			lost = append(lost, "the "+mark.key)
		}
	}
	return lost
}

// ownerMark returns what names the owner of an object in an apply, and whether the answer has it.
func ownerMark(d *rules.Desired, owner Request, answer *watch.Object) (mark string, kept bool) {
	switch {
	case d.Child.Shared:
		_, kept = rules.ShareOf(answer.Content(), owner.UID)
		return "the annotation " + rules.ShareKey(owner.UID), kept
	case d.Tracked:
		of, _ := rules.AnnotatedOwner(answer.Content())
		return "the annotation " + rules.AnnotationOwner, of.UID == owner.UID
	}
	controller, _ := answer.Controller()
	return "metadata.ownerReferences", controller.UID == owner.UID
}

// lostMetadata returns what the answer to a write of the primary's metadata lacks.
func lostMetadata(answer *watch.Object, finalizers []string, annotations map[string]any) (lost []string) {
	kept, notes := answer.GetFinalizers(), answer.GetAnnotations()
	for _, f := range finalizers {
		if !slices.Contains(kept, f) {
			lost = append(lost, "the finalizer "+f)
		}
	}
	for key, value := range annotations {
		if text, set := value.(string); set && notes[key] != text {
			lost = append(lost, "the annotation "+key)
		}
	}
	slices.Sort(lost)
	return lost
}
