// Package answer tells what the API server's answer to a request says.
package answer

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsAbsent reports whether an answer says that the object does not exist. A 404
// without a status of the API server says nothing about the object: the API server
// sends it for a kind that it does not serve, and a gateway for reasons of its own.
func IsAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
