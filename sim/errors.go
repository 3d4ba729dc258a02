package sim

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// asStatus returns an error as the API server reports it. Any other error is a 500 without a
// reason.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// errNotServed is the response for a kind that is not served.
func errNotServed(gvr runtimeschema.GroupVersionResource, verb string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, verb, gvr.GroupResource(), "", "404 page not found", 0, true)
}

// errModified is the response to a write of an outdated object.
func errModified(r *request) error {
	return apierrors.NewConflict(r.groupResource(), r.name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// errUnversioned is the response to a PUT without a resourceVersion.
func errUnversioned(r *request) error {
	kind := runtimeschema.GroupKind{Group: r.kind.GVK.Group, Kind: r.kind.Resource}
	return apierrors.NewInvalid(kind, r.name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
	})
}
