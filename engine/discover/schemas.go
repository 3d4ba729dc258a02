package discover

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
)

// Schemas is the state of a cluster's schemas: the URL of the OpenAPI document
// of each group and version. The URL contains a hash of the document.
type Schemas map[schema.GroupVersion]string

// Agree reports whether both have the same document of each of some versions.
func (s Schemas) Agree(other Schemas, versions []schema.GroupVersion) bool {
	return !slices.ContainsFunc(versions, func(gv schema.GroupVersion) bool { return s[gv] != other[gv] })
}

// SchemasIn returns the state of the schemas by an index of OpenAPI documents.
func SchemasIn(index map[string]openapi.GroupVersionWithContext) Schemas {
	all := Schemas{}
	for path, document := range index {
		prefix, groupVersion, _ := strings.Cut(path, "/")
		if prefix != "api" && prefix != "apis" {
			continue
		}
		if gv, err := schema.ParseGroupVersion(groupVersion); err == nil {
			all[gv] = document.ServerRelativeURL()
		}
	}
	return all
}

// ReadSchemas reads the state of the schemas from an API server.
func ReadSchemas(ctx context.Context, d discovery.DiscoveryInterfaceWithContext) (Schemas, error) {
	index, err := d.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI: %w", err)
	}
	return SchemasIn(index), nil
}
