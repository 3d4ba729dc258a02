package answer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A GatewayError says that a gateway or proxy has answered 404 in the place of the API server. That
// says nothing about objects and kinds.
type GatewayError struct {
	Text string // of the answer, shortened
}

// Error implements error.
func (e GatewayError) Error() string {
	return fmt.Sprintf("a gateway or proxy has answered 404, and not the API server: %q", e.Text)
}

// RejectGateway404 returns a transport that turns a 404 that is not one of the API server into a
// GatewayError. client-go takes each 404 for an answer of the API server; discovery concludes from it
// that a kind, or a whole API server, has no objects.
func RejectGateway404(next http.RoundTripper) http.RoundTripper { return gateway404{next} }

type gateway404 struct{ next http.RoundTripper }

// longest404 limits how much of a 404 is read, in bytes. One of the API server is far smaller.
const longest404 = 64 << 10

// RoundTrip implements http.RoundTripper.
func (g gateway404) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusNotFound {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, longest404))
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read an answer of code 404: %w", err)
	}
	if !isServers404(request.URL.Path, response.Header.Get("Content-Type"), body) {
		const longest = 100
		return nil, GatewayError{strings.ToValidUTF8(string(body[:min(len(body), longest)]), "")}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport.
func (g gateway404) WrappedRoundTripper() http.RoundTripper { return g.next }

// isServers404 reports whether a 404 is one of the API server: a Status, or the text of Go's
// http.NotFound, for example for a group that it does not serve. For the schemas of a version that it
// does not serve, it answers with nothing.
func isServers404(path, contentType string, body []byte) bool {
	if len(body) == 0 && contentType == "" {
		return strings.Contains(path, "/openapi/v3/")
	}
	mediaType, _, _ := mime.ParseMediaType(contentType) // A malformed one is not of the API server.
	switch mediaType {
	case runtime.ContentTypeProtobuf, runtime.ContentTypeCBOR:
		return true // No gateway sends them.
	case runtime.ContentTypeJSON:
		var is metav1.TypeMeta
		return json.Unmarshal(body, &is) == nil && is.Kind == "Status" && is.APIVersion == "v1"
	case "text/plain":
		return string(bytes.TrimSpace(body)) == "404 page not found"
	}
	return false
}
