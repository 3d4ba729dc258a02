package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

type discovered struct {
	discovery discovery.DiscoveryInterfaceWithContext
}

// Discovered returns the kinds of which an API server tells. It is asked anew
// each time.
func Discovered(d discovery.DiscoveryInterfaceWithContext) Kinds { return discovered{d} }

// Find implements Kinds.
func (d discovered) Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	k, err := d.find(ctx, gvk)
	if isUnknownKind(err) {
		return Kind{}, NoKindError{GVK: gvk, Served: d.served(ctx, gvk)}
	}
	return k, err
}

func (d discovered) find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	list, err := d.discovery.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return Kind{}, NoKindError{GVK: gvk}
	}
	if err != nil {
		return Kind{}, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
	}
	found := Kind{GVK: gvk}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			found.GVR = gvk.GroupVersion().WithResource(r.Name)
			found.Singular, found.Namespaced = r.SingularName, r.Namespaced
		}
	}
	if found.GVR.Resource == "" {
		return Kind{}, NoKindError{GVK: gvk}
	}
	found.Status = hasResource(list, found.GVR.Resource+"/status")
	return found, nil
}

// served returns the other versions in which there is a kind, for a message: an
// error leaves some out.
func (d discovered) served(ctx context.Context, gvk schema.GroupVersionKind) (served []string) {
	versions, err := d.Versions(ctx, gvk.Group)
	if err != nil {
		return nil
	}
	for _, v := range versions {
		if v == gvk.Version {
			continue
		}
		if _, err := d.find(ctx, gvk.GroupKind().WithVersion(v)); err == nil {
			served = append(served, v)
		}
	}
	return served
}

func hasResource(list *metav1.APIResourceList, name string) bool {
	for i := range list.APIResources {
		if list.APIResources[i].Name == name {
			return true
		}
	}
	return false
}

// Versions implements Kinds.
func (d discovered) Versions(ctx context.Context, group string) (versions []string, err error) {
	groups, err := d.discovery.ServerGroupsWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("discover groups: %w", err)
	}
	for _, g := range groups.Groups {
		if g.Name != group {
			continue
		}
		for _, v := range g.Versions {
			versions = append(versions, v.Version)
		}
	}
	return versions, nil
}

// Conditions implements Kinds. It asks OpenAPI and not for the CRD, since every
// authenticated client may read the former. The API server publishes the schema
// a moment after it has established a CRD.
func (d discovered) Conditions(ctx context.Context, gvk schema.GroupVersionKind) (ConditionList, error) {
	paths, err := d.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return NoConditions, fmt.Errorf("read OpenAPI: %w", err)
	}
	group, ok := paths["apis/"+gvk.GroupVersion().String()]
	if !ok {
		return NoConditions, NoKindError{GVK: gvk}
	}
	raw, err := group.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return NoConditions, fmt.Errorf("read OpenAPI of %s: %w", gvk.GroupVersion(), err)
	}
	return parseConditions(raw, gvk)
}

// openAPI is the little that is read of an OpenAPI v3 document.
type openAPI struct {
	Components struct {
		Schemas map[string]struct {
			Kinds      []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
			Properties map[string]struct {
				Properties map[string]struct {
					ListType string   `json:"x-kubernetes-list-type"`
					MapKeys  []string `json:"x-kubernetes-list-map-keys"`
				} `json:"properties"`
			} `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

func parseConditions(raw []byte, gvk schema.GroupVersionKind) (ConditionList, error) {
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		return NoConditions, fmt.Errorf("parse OpenAPI of %s: %w", gvk.GroupVersion(), err)
	}
	for _, s := range doc.Components.Schemas {
		if len(s.Kinds) != 1 || s.Kinds[0] != gvk {
			continue
		}
		conditions, ok := s.Properties["status"].Properties["conditions"]
		if !ok {
			return NoConditions, nil
		}
		return ConditionsOf(conditions.ListType, conditions.MapKeys), nil
	}
	return NoConditions, NoKindError{GVK: gvk}
}
