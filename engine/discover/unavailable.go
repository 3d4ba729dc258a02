package discover

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An UnavailableError says that the API server answers, and that what serves one group and
// version does not: usually the backend of an aggregated API. Its kinds and objects are
// unknown, and not absent.
type UnavailableError struct {
	GV  schema.GroupVersion
	Err error
}

// Error names the group and version, what the API server said, and where to look.
func (e UnavailableError) Error() string {
	return fmt.Sprintf("API %s is unavailable (see kubectl get apiservice %s.%s): %v", e.GV, e.GV.Version, e.GV.Group,
		e.Err)
}

// Unwrap returns the error of the request.
func (e UnavailableError) Unwrap() error { return e.Err }

// IsUnavailable reports whether the cause of an error is an UnavailableError.
func IsUnavailable(err error) bool {
	_, unavailable := errors.AsType[UnavailableError](err)
	return unavailable
}

// isServerError reports whether the API server has answered that it cannot handle a request.
func isServerError(err error) bool {
	status, answered := errors.AsType[*apierrors.StatusError](err)
	return answered && status.ErrStatus.Code >= http.StatusInternalServerError
}
