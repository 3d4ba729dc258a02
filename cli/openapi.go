package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	kindschema "reconcel/rules/schema"
)

// schemas returns what is said of the kinds in these groups and versions.
// Those that are not known are left out, and so are those about which there is
// an error. The set is nil if it makes no sense at all.
func (p published) schemas(ctx context.Context, versions []schema.GroupVersion) (*kindschema.Set, error) {
	from := kindschema.Sources{OpenAPI: [][]byte{}}
	var unread []error
	for _, gv := range versions {
		document, err := p.document(ctx, gv)
		switch {
		case err != nil:
			unread = append(unread, fmt.Errorf("read OpenAPI of %s: %w", gv, err))
		case document != nil:
			from.OpenAPI = append(from.OpenAPI, document)
		}
	}
	set, err := kindschema.New(from)
	if err != nil {
		return nil, err
	}
	return set, errors.Join(unread...)
}

// published are the OpenAPI documents of a cluster, by path.
type published map[string]openapi.GroupVersionWithContext

func (c *liveCluster) published(ctx context.Context) (published, error) {
	paths, err := c.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("read OpenAPI: %w", err)
	}
	return paths, nil
}

// document returns what is published about a group's version, or nil.
func (p published) document(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	group, ok := p[path]
	if !ok {
		return nil, nil
	}
	return group.SchemaWithContext(ctx, runtime.ContentTypeJSON)
}
