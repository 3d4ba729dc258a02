package faultproxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Request describes a request to the API server. A request without a resource, such as
// one for /version, has no Resource.
type Request struct {
	Path        string
	Method      string
	Group       string // of the API, empty for the core group
	Resource    string // plural
	Subresource string
	Namespace   string
	Name        string
	Watch       bool
	DryRun      bool
}

// String names the method and the object: "PATCH pods/status a/web".
func (r Request) String() string {
	text := r.Method + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Namespace != "" {
		text += " " + r.Namespace + "/" + r.Name
	} else if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// nameIn returns the name of the object in the body of a request, which can still be read afterwards. It
// is empty if the API server generates it.
func nameIn(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), errorReader{err}))
	var object struct {
		Metadata struct{ Name string }
	}
	_ = json.Unmarshal(body, &object) // A name that cannot be read is unknown.
	return object.Metadata.Name
}

// An errorReader returns an error, or io.EOF.
type errorReader struct{ err error }

// Read implements io.Reader.
func (r errorReader) Read([]byte) (int, error) { return 0, cmp.Or(r.err, io.EOF) }

// IsWrite reports whether the request changes something. Events and Leases do not count,
// because they are not part of the controller's result. Token and access reviews are not
// writes, although they use POST.
func (r Request) IsWrite() bool {
	switch {
	case !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method),
		r.DryRun:
		return false
	case r.Group == "authentication.k8s.io", r.Group == "authorization.k8s.io":
		return false
	default:
		return r.Resource != "" && r.Resource != "events" && r.Resource != "leases"
	}
}

// Parse parses the URL of a Kubernetes API request:
//
//	/api/v1/namespaces/a/pods/web/status
//	/apis/apps/v1/deployments?watch=true
func Parse(r *http.Request) Request {
	query := r.URL.Query()
	request := Request{
		Path:   r.URL.Path,
		Method: r.Method,
		Watch:  r.Method == http.MethodGet && slices.Contains([]string{"1", "true"}, query.Get("watch")),
		DryRun: query.Has("dryRun"),
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(path) > 2 && path[0] == "api":
		path = path[2:]
	case len(path) > 3 && path[0] == "apis":
		request.Group, path = path[1], path[3:]
	default:
		return request
	}
	// The third segment of namespaces/a/… is a resource in the namespace, unless it is
	// one of the namespace's own subresources.
	if path[0] == "namespaces" && len(path) > 2 && path[2] != "status" && path[2] != "finalize" {
		request.Namespace, path = path[1], path[2:]
	}
	for i, part := range []*string{&request.Resource, &request.Name, &request.Subresource} {
		if i < len(path) {
			*part = path[i]
		}
	}
	return request
}
