package outcome

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/answer"
	"reconcel/rules"
	schemas "reconcel/rules/schema"
)

// Secrets is the kind whose values no message may quote.
var Secrets = schema.GroupKind{Kind: "Secret"}

// IsForbidden reports whether a permission is missing. A namespace that is being
// deleted also answers 403 to new objects.
func IsForbidden(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// WithholdSecret removes the message from an error about a Secret: the API server
// quotes values that it rejects. It keeps the names of the fields, and a missing
// permission: who decides about permissions does not see the Secret.
func WithholdSecret(gk schema.GroupKind, err error) error {
	var status apierrors.APIStatus
	if gk != Secrets || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	var fields []string
	if s.Details != nil {
		details := *s.Details
		details.Causes = make([]metav1.StatusCause, 0, len(s.Details.Causes))
		for _, c := range s.Details.Causes {
			fields = append(fields, c.Field)
			details.Causes = append(details.Causes, metav1.StatusCause{Type: c.Type, Field: c.Field})
		}
		s.Details = &details
	}
	if denied := lacked.FindString(s.Message); denied != "" && s.Code == http.StatusForbidden &&
		!policyDenial.MatchString(s.Message) {
		s.Message = denied
		return &apierrors.StatusError{ErrStatus: s}
	}
	s.Message = fmt.Sprintf("the API server answered %d %s %v (its message is withheld: it may quote the Secret)", s.Code,
		s.Reason, fields)
	return &apierrors.StatusError{ErrStatus: s}
}

// ClassifyAnswer classifies the API server's answer to a write. An error that it
// returns unchanged is transient and is retried with backoff.
//
// If a body does not match the schema (wrong type, unknown field, duplicate key), or a
// value cannot be read (a quantity, a time, base64), an apply returns 500 without a
// reason. This was measured, and it is as permanent as a 422. Only the text tells it
// from the answer of an API server whose etcd is away, which has no reason either.
func ClassifyAnswer(err error) error {
	err = SortCauses(err)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case s.Code == http.StatusForbidden && policyDenial.MatchString(s.Message):
		return &TerminalError{ReasonRejected, ForbiddenRetry, err}
	case s.Code == http.StatusForbidden: // After a 401, the next request may have other credentials.
		return &TerminalError{ReasonForbidden, ForbiddenRetry, Permission(err)}
	case s.Code == http.StatusUnprocessableEntity, s.Code == http.StatusBadRequest,
		s.Code == http.StatusRequestEntityTooLarge, s.Code == http.StatusMethodNotAllowed,
		s.Code == http.StatusUnsupportedMediaType, // An aggregated API without server-side apply.
		s.Code == http.StatusInternalServerError && (mismatch.MatchString(s.Message) || LostVersion.MatchString(s.Message)):
		return &TerminalError{ReasonRejected, RefusedRetry, err}
	}
	return err
}

// mismatch matches the errors of an apply whose body does not match the schema or has a value that cannot be read, as
// k8s.io/apimachinery/pkg/util/managedfields formats them. The conversion of a live object is not among them: it may
// ask a webhook.
var mismatch = regexp.MustCompile(`failed to create typed (?:patch|live) object|failed to convert new typed object|` +
	`failed to convert new object \(.*\) to proper version: unable to convert unstructured object|failed to convert to unversioned`)

// IsRejection reports whether the API server rejects a write: repeating it cannot
// help while the cluster stays as it is.
func IsRejection(err error) bool {
	_, terminal := errors.AsType[*TerminalError](ClassifyAnswer(err))
	return terminal || NamespaceEnds(err) || answer.IsAbsent(err) // Its namespace is missing.
}

// policyDenial matches a 403 that is not about a missing permission: a quota is
// exceeded, or admission denies the request.
var policyDenial = regexp.MustCompile(`exceeded quota|admission webhook|ValidatingAdmissionPolicy|violates PodSecurity|maximum .* usage per`)

// lacked matches the API server's message about a missing permission.
var lacked = regexp.MustCompile(`User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`)

// Permission names the missing permission and its remedy as the cause of an error.
func Permission(err error) error {
	m := lacked.FindStringSubmatch(err.Error())
	if m == nil || strings.HasPrefix(m[2], "impersonate") {
		return err
	}
	what := m[3]
	if m[4] != "" {
		what += "." + m[4]
	}
	if m[5] != "" {
		what += " in namespace " + m[5]
	}
	return &ExplainedError{fmt.Sprintf("%s may not %s %s; apply what `reconcel rbac` prints", m[1], m[2], what), err}
}

// SortCauses sorts the causes in an API server's answer. Their order is random,
// and the same error must have the same text each time.
func SortCauses(err error) error {
	status, ok := err.(*apierrors.StatusError) //nolint:errorlint // What is around it would be lost.
	if !ok {
		return err
	}
	s := status.ErrStatus
	if apierrors.IsInvalid(err) && s.Details != nil && len(s.Details.Causes) > 1 {
		var words []string
		for _, c := range s.Details.Causes {
			words = append(words, c.Field+": "+c.Message)
		}
		slices.Sort(words)
		kind := schema.GroupKind{Group: s.Details.Group, Kind: s.Details.Kind}
		s.Message = fmt.Sprintf("%s %q is invalid: [%s]", kind, s.Details.Name, strings.Join(slices.Compact(words), ", "))
	} else if lines := strings.Split(s.Message, "\n"); len(lines) > 2 &&
		mismatch.MatchString(lines[0]) { // Then one line per cause.
		slices.Sort(lines[1:])
		s.Message = strings.Join(lines, "\n")
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// ExplainRejection classifies the API server's answer to an update. If the update
// is invalid, the cause also names the rejected fields and the remedy.
func ExplainRejection(d *rules.Desired, err error, remedy string) error {
	terminal, ok := errors.AsType[*TerminalError](ClassifyAnswer(err))
	if !ok || !apierrors.IsInvalid(err) {
		return ClassifyAnswer(err)
	}
	id, what := d.Identity, "the change"
	if fields := CausedFields(err); len(fields) > 0 {
		what = "the change of " + JoinFirst(fields)
	}
	cause, _ := CauseOf(err)
	return &TerminalError{terminal.Reason, terminal.Retry,
		&ExplainedError{fmt.Sprintf("%s: %s: the API server rejects %s%s", cause, id.String(), what, remedy), err}}
}

// Remedy returns what the author of the rule can do about a rejected update.
func Remedy(d *rules.Desired) string {
	switch gk := d.Identity.GVK.GroupKind(); {
	case d.Child.OnChange != rules.Apply:
		return ""
	case schemas.Replaceable(gk):
		return "; if it is immutable, set onChange: replace"
	case gk == schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return "; of a claim, hardly more than spec.resources.requests.storage can be changed, and that can only grow"
	case gk == schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return "; if it is immutable, leave it to the object with ignoreFields"
	}
	return "" // The object may hold data, so the message must not advise to delete it.
}

// CausedFields returns the fields that the causes of an answer name, each once.
func CausedFields(err error) (fields []string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" && !slices.Contains(fields, c.Field) {
			fields = append(fields, c.Field)
		}
	}
	slices.Sort(fields)
	return fields
}
