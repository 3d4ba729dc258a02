package cli

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"reconcel/rules"
	kindschema "reconcel/rules/schema"
)

// hasConditions reports whether the schema of a kind has status.conditions that
// rules may write: those of built-in kinds are Kubernetes' own.
func (c *liveCluster) hasConditions(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	if rules.BuiltIn(gvk.Group) {
		return false, nil
	}
	return c.conditions.get(gvk, func() (bool, error) {
		has, err := c.findConditions(ctx, gvk)
		if err != nil {
			return false, fmt.Errorf("read the schema of %s: %w", gvk.Kind, err)
		}
		return has, nil
	})
}

func (c *liveCluster) findConditions(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	published, err := c.published(ctx)
	if err != nil {
		return false, err
	}
	document, err := published.document(ctx, gvk.GroupVersion())
	if err != nil {
		return false, err
	}
	if document == nil {
		return false, errors.New("the API server does not publish it")
	}
	set, err := kindschema.New(kindschema.Sources{OpenAPI: [][]byte{document}})
	if err != nil {
		return false, err
	}
	object := set.Resolve(set.Schema(gvk))
	if object == nil {
		return false, nil
	}
	status, ok := object.Properties["status"]
	if !ok {
		return false, nil
	}
	resolved := set.Resolve(&status)
	if resolved == nil {
		return false, nil
	}
	_, has := resolved.Properties["conditions"]
	return has, nil
}

// schemas returns what a cluster says of the kinds in these groups and versions.
// Those that it does not know are left out, and so are those about which it
// gives an error. The set is nil if it says nothing at all.
func (c *liveCluster) schemas(ctx context.Context, versions []schema.GroupVersion) (*kindschema.Set, error) {
	published, err := c.published(ctx)
	if err != nil {
		return nil, err
	}
	from := kindschema.Sources{OpenAPI: [][]byte{}}
	var unread []error
	for _, gv := range versions {
		document, err := published.document(ctx, gv)
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
