package answer_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"reconcel/engine/answer"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSchemasThatAreNotServed asks for the schemas of a version that the API server does not serve: kube-aggregator answers
// with nothing.
func TestSchemasThatAreNotServed(t *testing.T) {
	for path, fromGateway := range map[string]bool{
		"/openapi/v3/apis/example.com/v1":                false,
		"/clusters/one/openapi/v3/apis/example.com/v1":   false,
		"/api/v1/namespaces/openapi/configmaps/one":      true,
		"/apis/example.com/v1/namespaces/openapi/foos/a": true,
	} {
		server := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.invalid"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := answer.RejectGateway404(server).RoundTrip(request)
		if _, rejected := errors.AsType[answer.GatewayError](err); rejected != fromGateway {
			t.Errorf("%s: error %v", path, err)
		}
		if err == nil {
			_ = response.Body.Close()
		}
	}
}

// TestGateway404 sends 404s of the API server and of what may be before it.
func TestGateway404(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		fromGateway             bool
	}{
		{"an object that is gone", "application/json", `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`, false},
		{"the same with a charset", "application/json; charset=utf-8", `{"kind":"Status","apiVersion":"v1","code":404}`, false},
		{"a group that is not served", "text/plain; charset=utf-8", "404 page not found\n", false},
		{"protobuf", "application/vnd.kubernetes.protobuf", "k8s\x00", false},
		{"a page of a gateway", "text/html", "<html>404 page not found</html>", true},
		{"JSON of a gateway", "application/json", `{"message":"no Route matched with those values"}`, true},
		{"an object that is called Status", "application/json", `{"kind":"Status","apiVersion":"example.com/v1"}`, true},
		{"text of a gateway", "text/plain", "default backend - 404", true},
		{"a gateway that says nothing", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{
					StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {c.contentType}},
					Body: io.NopCloser(strings.NewReader(c.body)), Request: r,
				}, nil
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.invalid", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := answer.RejectGateway404(server).RoundTrip(request)
			if _, rejected := errors.AsType[answer.GatewayError](err); rejected != c.fromGateway {
				t.Fatalf("error %v", err)
			}
			if c.fromGateway {
				return
			}
			defer func() { _ = response.Body.Close() }()
			if body, err := io.ReadAll(response.Body); err != nil || string(body) != c.body {
				t.Errorf("the body is %q, error %v", body, err)
			}
		})
	}
}
