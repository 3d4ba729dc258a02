package faultproxy

import (
	"net/http"
	"slices"
	"strings"
)

// Request is what a request to the API server is about. Requests about nothing
// in particular, such as those for /version, have no Resource.
type Request struct {
	Method      string
	Group       string // of the API, empty for the core group
	Resource    string // plural
	Subresource string
	Namespace   string
	Name        string
	Watch       bool
	DryRun      bool
}

// String names what is done to which object: "PATCH pods/status a/web".
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

// IsWrite reports whether the request is one to change something. Events and
// Leases do not count, for they say nothing about the work that is done, and
// neither do questions that are asked with POST.
func (r Request) IsWrite() bool {
	switch {
	case !slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method), r.DryRun:
		return false
	case r.Group == "authentication.k8s.io", r.Group == "authorization.k8s.io":
		return false
	default:
		return r.Resource != "" && r.Resource != "events" && r.Resource != "leases"
	}
}

// parse reads what Kubernetes puts into the URL of a request:
//
//	/api/v1/namespaces/a/pods/web/status
//	/apis/apps/v1/deployments?watch=true
func parse(r *http.Request) Request {
	query := r.URL.Query()
	request := Request{
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
	// A third part of namespaces/a/… is a resource in it, unless it is one of the
	// namespace's own subresources.
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
