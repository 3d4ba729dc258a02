package sim

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
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
	return apierrors.NewGenericServerResponse(http.StatusNotFound, verb, gvr.GroupResource(), "", "404 page not found", 0,
		true)
}

// A ConnectionLostError is the error of a Failure without an answer.
type ConnectionLostError struct{ Message string }

// Error implements error.
func (e *ConnectionLostError) Error() string { return e.Message }
