package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/answer"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
)

// A movingSender sends patches. When the API server rejects an apply because managedFields name a
// version that the CRD no longer has, it moves reconcel's own entries to the version of the apply, and
// sends the apply again. It does not change the entries of other managers.
type movingSender struct {
	watch.Sender
	client dynamic.Interface
}

// lostVersion matches the API server's answer to an apply to an object that has an entry of
// managedFields in a version that its CRD does not have.
var lostVersion = regexp.MustCompile(`request to convert CR to an invalid group/version: (\S+)`)

// lostVersionIn returns the version that an error names, or "".
func lostVersionIn(err error) string {
	m := lostVersion.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	return strings.TrimRight(m[1], `"',;:)`)
}

// mostLostVersions limits how many versions one apply repairs. A CRD seldom loses several at once.
const mostLostVersions = 4

// Send implements watch.Sender.
func (s movingSender) Send(ctx context.Context, w *watch.Watch, p watch.Patch) (*watch.Object, error) {
	o, err := s.Sender.Send(ctx, w, p)
	for range mostLostVersions {
		if err == nil || p.Type != types.ApplyPatchType {
			break
		}
		version := lostVersionIn(err)
		if version == "" {
			break
		}
		if err := s.move(ctx, p, version, err); err != nil {
			return nil, err
		}
		o, err = s.Sender.Send(ctx, w, p)
	}
	return o, err
}

// move moves our own entries of an object to the version of a patch.
func (s movingSender) move(ctx context.Context, p watch.Patch, version string, rejection error) error {
	var of dynamic.ResourceInterface = s.client.Resource(p.Kind.GVR)
	if p.Namespace != "" {
		of = s.client.Resource(p.Kind.GVR).Namespace(p.Namespace)
	}
	u, err := of.Get(context.WithValue(ctx, accountKey{}, nil), p.Name, metav1.GetOptions{})
	if err != nil {
		// Not with the rejection, which is retried after minutes.
		return fmt.Errorf("read %s/%s: %w", p.Kind.GVK.Kind, p.Name, err)
	}
	lost := managedfields.LostIn(u.Object, version)
	if all := lost.Managers(); len(all) > 0 {
		return explainLostVersion(u, all, version, "change apiVersion of the entry", rejection)
	}
	body, err := lost.Move(u.Object, p.Kind.GVK.GroupVersion().String())
	if body == nil || err != nil {
		return errors.Join(rejection, err)
	}
	// In a patch of the status, the API server ignores managedFields.
	p.Type, p.Body, p.Force, p.Subresource = types.JSONPatchType, body, false, ""
	_, err = s.Sender.Send(ctx, nil, p)
	if apierrors.IsForbidden(err) { // Where reconcel writes only the status, it needs no permission for this.
		return explainLostVersion(u, []string{managedfields.Manager}, version, fmt.Sprintf("allow reconcel to patch %s for some minutes", p.Kind.GVR.GroupResource()), rejection)
	}
	if apierrors.IsInvalid(err) || answer.IsAbsent(err) { // A test of the patch failed: another writer changed the object.
		return apierrors.NewConflict(p.Kind.GVR.GroupResource(), p.Name, err)
	}
	return err
}

// A lostVersionError is an API server's answer to which reconcel cannot put an end.
type lostVersionError struct{ answer error }

// Error implements error.
func (e *lostVersionError) Error() string { return e.answer.Error() }

// Unwrap returns the answer.
func (e *lostVersionError) Unwrap() error { return e.answer }

// explainLostVersion names the managers whose entries name a version that the CRD does not have, and what to do.
func explainLostVersion(u *unstructured.Unstructured, managers []string, apiVersion, remedy string, answer error) error {
	_, version, _ := strings.Cut(apiVersion, "/")
	return &explainedError{err: &lostVersionError{answer}, cause: fmt.Sprintf(
		"metadata.managedFields of %s/%s has an entry of manager %s in version %s, which its CustomResourceDefinition does not have any more; "+
			"add version %[4]s to the CustomResourceDefinition again with served: false, or %[5]s",
		u.GetKind(), u.GetName(), joinFirst(managers), version, remedy)}
}
