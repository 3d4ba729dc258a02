package decide

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/ident"
	"reconcel/engine/outcome"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Admission may change what reconcel sends, and the API server accepts the rest. An object without reconcel's marks
// would not be recognised, and a primary without a finalizer would leave objects behind. No event follows: the answer
// to the write is the only sign.

// A StrippedError means that admission has removed or changed marks of ours.
type StrippedError struct {
	object string // Kind/namespace/name
	marks  []string
}

func (e *StrippedError) Error() string {
	return fmt.Sprintf("an admission policy or webhook removed or changed %s of %s, which reconcel needs; "+
		"exclude the requests of reconcel from that policy or webhook", strings.Join(e.marks, ", "), e.object)
}

// Stripped returns the error of a write whose answer lacks marks, or nil if it lacks none.
func Stripped(object string, marks []string) error {
	if len(marks) == 0 {
		return nil
	}
	err := &StrippedError{object, marks}
	return &outcome.TerminalError{Reason: outcome.ReasonRejected, Retry: outcome.ForbiddenRetry,
		Err: &outcome.ExplainedError{Cause: err.Error(), Err: err}}
}

// OwnerMark returns what names the owner of an object in an apply, and whether the answer has it.
func OwnerMark(d *rules.Desired, owner ident.Request, answer *watch.Object) (mark string, kept bool) {
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

// LostMetadata returns what the answer to a write of the primary's metadata lacks.
func LostMetadata(answer *watch.Object, finalizers []string, annotations map[string]any) (lost []string) {
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

// FinalizedPrefix begins the key of an annotation of the primary: all entries of
// finalize of a rule are done. The rest of the key is the rule's name. Without it the
// entries would be created again after teardown deleted them. The value is the
// primary's UID, so that a copy of the annotation has no effect.
const FinalizedPrefix = "finalized.reconcel.dev/"

// WithoutFinalizer returns the change of metadata that removes the finalizer and the
// annotations of a rule.
func WithoutFinalizer(o *watch.Object, rule string) (finalizers []string, annotations map[string]any) {
	rest := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == rules.Finalizer(rule) })
	return rest, map[string]any{FinalizedPrefix + rule: nil, rules.DonePrefix + rule: nil}
}

// LostVersionIn returns the version that an error names, or "".
func LostVersionIn(err error) string {
	m := outcome.LostVersion.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	return strings.TrimRight(m[1], `"',;:)`)
}

// MostLostVersions limits how many versions one apply repairs. A CRD seldom loses several at once.
const MostLostVersions = 4

// ExplainLostVersion names the managers whose entries name a version that the CRD does not have, and what to do.
func ExplainLostVersion(u *unstructured.Unstructured, managers []string, apiVersion, remedy string,
	answer error) error {
	_, version, _ := strings.Cut(apiVersion, "/")
	return &outcome.ExplainedError{Err: &outcome.LostVersionError{Answer: answer}, Cause: fmt.Sprintf(
		"metadata.managedFields of %s/%s has an entry of manager %s in version %s, which its CustomResourceDefinition does "+
			"not have any more; "+
			"add version %[4]s to the CustomResourceDefinition again with served: false, or %[5]s",
		u.GetKind(), u.GetName(), outcome.JoinFirst(managers), version, remedy)}
}
