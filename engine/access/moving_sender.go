package access

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/engine/answer"
	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
)

// A MovingSender sends patches. When the API server rejects an apply because managedFields name a
// version that the CRD no longer has, it moves reconcel's own entries to the version of the apply, and
// sends the apply again. It does not change the entries of other managers.
type MovingSender struct {
	watch.Sender
	Client dynamic.Interface
}

// Send implements watch.Sender.
func (s MovingSender) Send(ctx context.Context, w *watch.Watch, p watch.Patch) (*watch.Object, error) {
	o, err := s.Sender.Send(ctx, w, p)
	for range decide.MostLostVersions {
		if err == nil || p.Type != types.ApplyPatchType {
			break
		}
		version := decide.LostVersionIn(err)
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
func (s MovingSender) move(ctx context.Context, p watch.Patch, version string, rejection error) error {
	var of dynamic.ResourceInterface = s.Client.Resource(p.Kind.GVR)
	if p.Namespace != "" {
		of = s.Client.Resource(p.Kind.GVR).Namespace(p.Namespace)
	}
	u, err := of.Get(context.WithValue(ctx, AccountKey{}, nil), p.Name, metav1.GetOptions{})
	if err != nil {
		// Not with the rejection, which is retried after minutes.
		return fmt.Errorf("read %s/%s: %w", p.Kind.GVK.Kind, p.Name, err)
	}
	lost := managedfields.LostIn(u.Object, version)
	if all := lost.Managers(); len(all) > 0 {
		return decide.ExplainLostVersion(u, all, version, "change apiVersion of the entry", rejection)
	}
	body, err := lost.Move(u.Object, p.Kind.GVK.GroupVersion().String())
	if body == nil || err != nil {
		return errors.Join(rejection, err)
	}
	// In a patch of the status, the API server ignores managedFields.
	p.Type, p.Body, p.Force, p.Subresource = types.JSONPatchType, body, false, ""
	_, err = s.Sender.Send(ctx, nil, p)
	if apierrors.IsForbidden(err) { // Where reconcel writes only the status, it needs no permission for this.
		return decide.ExplainLostVersion(u, []string{managedfields.Manager}, version,
			fmt.Sprintf("allow reconcel to patch %s for some minutes", p.Kind.GVR.GroupResource()), rejection)
	}
	if apierrors.IsInvalid(err) || answer.IsAbsent(err) { // A test of the patch failed: another writer changed the object.
		return apierrors.NewConflict(p.Kind.GVR.GroupResource(), p.Name, err)
	}
	return err
}
