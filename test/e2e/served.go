package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Served are the answers of an API server that exists only in memory.
type Served struct {
	// List returns the objects of a namespace as JSON; "" is all namespaces.
	List func(namespace string) ([]string, error)
	// Watch returns a stream of events; nil never ends and has none.
	Watch func() (io.ReadCloser, error)
}

// Client returns a client that gets these answers. A watch that begins with a list is
// refused, so that clients send a list request.
func (s Served) Client(tb testing.TB) rest.Interface {
	tb.Helper()
	c, err := rest.UnversionedRESTClientForConfigAndClient(
		dynamic.ConfigFor(&rest.Config{Host: "https://api.invalid", APIPath: "/", QPS: -1}), &http.Client{Transport: s})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// RoundTrip implements http.RoundTripper.
func (s Served) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := s.answer(r)
	status, failed := err.(apierrors.APIStatus)
	if err != nil && !failed {
		return nil, err
	}
	code := http.StatusOK
	if failed {
		answer := status.Status()
		answer.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		text, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		code, body = int(answer.Code), io.NopCloser(strings.NewReader(string(text)))
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: body, Request: r,
	}, nil
}

// Handled are the answers of a handler, without a network: while it waits, the time of a test in a bubble goes on.
type Handled struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (h Handled) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (s Served) answer(r *http.Request) (io.ReadCloser, error) {
	query := r.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		return nil, apierrors.NewBadRequest("sendInitialEvents is not supported")
	case query.Get("watch") == "true" && s.Watch == nil:
		silent, _ := io.Pipe()
		return silent, nil
	case query.Get("watch") == "true":
		return s.Watch()
	}
	namespace := ""
	if segments := strings.Split(r.URL.Path, "/"); slices.Contains(segments, "namespaces") {
		namespace = segments[slices.Index(segments, "namespaces")+1]
	}
	var objects []string
	if s.List != nil {
		var err error
		if objects, err = s.List(namespace); err != nil {
			return nil, err
		}
	}
	text := `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[` + strings.Join(objects,
		",") + `]}`
	return io.NopCloser(strings.NewReader(text)), nil
}
