package server

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A path is what the path of a request names.
type path struct {
	schema.GroupVersion
	namespace, resource, name, subresource string
}

func (p path) gvr() schema.GroupVersionResource { return p.WithResource(p.resource) }

// parsePath reads /api/v1/namespaces/{namespace}/pods/{name}/status and the like. A path of a group alone has no
// Version, and one of a version no resource.
func parsePath(text string) (p path, ok bool) {
	parts := strings.Split(strings.Trim(text, "/"), "/")
	switch {
	case parts[0] == "api":
		parts = parts[1:]
	case parts[0] == "apis" && len(parts) > 1:
		p.Group, parts = parts[1], parts[2:]
	default:
		return path{}, false
	}
	if len(parts) > 0 {
		p.Version, parts = parts[0], parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" && !ofNamespaces[parts[2]] {
		p.namespace, parts = parts[1], parts[2:]
	}
	for _, part := range []*string{&p.resource, &p.name, &p.subresource} {
		if len(parts) > 0 {
			*part, parts = parts[0], parts[1:]
		}
	}
	return p, len(parts) == 0
}

// ofNamespaces are the subresources of Namespaces. Anything else behind a namespace is a resource in it.
var ofNamespaces = map[string]bool{"status": true, "finalize": true}
