package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is the proxy's answer instead of the API server's.
type Answer struct {
	Code       int    `json:"code,omitempty"`       // HTTP status
	Body       Body   `json:"body,omitempty"`       // a Status with a reason by default
	RetryAfter int    `json:"retryAfter,omitempty"` // in seconds; 0 leaves the header out
	Message    string `json:"message,omitempty"`
}

// Body is the form of an answer's body.
type Body string

// The bodies.
const (
	WithReason    Body = ""               // a Status as an API server sends it
	WithoutReason Body = "without reason" // a Status with an empty reason, as when etcd fails
	PlainText     Body = "plain text"     // as gateways send it
	WithID        Body = "with an id"     // a Status whose message has another request id and port each time
)

// ids counts the bodies with an id.
var ids atomic.Int64

// reasons are the reasons that an API server sends with a status, because clients check
// them.
var reasons = map[int]metav1.StatusReason{
	http.StatusUnauthorized:        metav1.StatusReasonUnauthorized,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
	http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
}

// status returns the body as a Status.
func (a Answer) status() metav1.Status {
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(a.Code), Message: a.Message,
	}
	if a.Message == "" {
		status.Message = fmt.Sprintf("the proxy says %d", a.Code)
	}
	if a.Body == WithID {
		const firstPort, ports = 32768, 28232 // that Linux gives to clients
		n := ids.Add(1)
		status.Message += fmt.Sprintf(": request id %08x from 10.0.0.1:%d", n, firstPort+n%ports)
	}
	if a.Body != WithoutReason {
		status.Reason = reasons[a.Code]
	}
	return status
}

func (a Answer) write(w http.ResponseWriter) {
	if a.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(a.RetryAfter))
	}
	if a.Body == PlainText {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(a.Code)
		fmt.Fprintln(w, http.StatusText(a.Code))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Code)
	_ = json.NewEncoder(w).Encode(a.status()) // It fails if the client has gone.
}
