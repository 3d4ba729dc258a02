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

// A kind is what the API server says of one kind of object.
type kind struct {
	gvk        schema.GroupVersionKind
	gvr        schema.GroupVersionResource
	namespaced bool
	status     bool // has the status subresource
}

// errNoKind says that the API server does not know a kind, yet.
type errNoKind struct{ gvk schema.GroupVersionKind }

func (e errNoKind) Error() string {
	return fmt.Sprintf("the API server does not know %s, kind %s", e.gvk.GroupVersion(), e.gvk.Kind)
}

// findKind asks the API server for one kind.
func findKind(ctx context.Context, d discovery.ServerResourcesInterfaceWithContext, gvk schema.GroupVersionKind) (kind, error) {
	list, err := d.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return kind{}, errNoKind{gvk}
	}
	if err != nil {
		return kind{}, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
	}
	found := kind{gvk: gvk}
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			found.gvr = gvk.GroupVersion().WithResource(r.Name)
			found.namespaced = r.Namespaced
		}
	}
	if found.gvr.Resource == "" {
		return kind{}, errNoKind{gvk}
	}
	found.status = hasResource(list, found.gvr.Resource+"/status")
	return found, nil
}

func hasResource(list *metav1.APIResourceList, name string) bool {
	for i := range list.APIResources {
		if list.APIResources[i].Name == name {
			return true
		}
	}
	return false
}

// A listType says how status.conditions of a kind may be written.
type listType int

const (
	noConditions     listType = iota // the schema has none, or the kind is built in
	keyedConditions                  // x-kubernetes-list-type: map; each condition has its own owner
	atomicConditions                 // one list, to be merged by whoever writes it
)

// conditionsOf reads from the published OpenAPI how the kind's conditions may
// be written. It asks OpenAPI and not for the CRD, since every authenticated
// client may read the former. errNoKind means that the schema is not published
// yet: the API server does so a moment after it has established a CRD.
func conditionsOf(ctx context.Context, d discovery.DiscoveryInterfaceWithContext, gvk schema.GroupVersionKind) (listType, error) {
	paths, err := d.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return noConditions, fmt.Errorf("read OpenAPI: %w", err)
	}
	group, ok := paths["apis/"+gvk.GroupVersion().String()]
	if !ok {
		return noConditions, errNoKind{gvk}
	}
	raw, err := group.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return noConditions, fmt.Errorf("read OpenAPI of %s: %w", gvk.GroupVersion(), err)
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

func parseConditions(raw []byte, gvk schema.GroupVersionKind) (listType, error) {
	var doc openAPI
	if err := json.Unmarshal(raw, &doc); err != nil {
		return noConditions, fmt.Errorf("parse OpenAPI of %s: %w", gvk.GroupVersion(), err)
	}
	for _, s := range doc.Components.Schemas {
		if len(s.Kinds) != 1 || s.Kinds[0] != gvk {
			continue
		}
		conditions, ok := s.Properties["status"].Properties["conditions"]
		switch {
		case !ok:
			return noConditions, nil
		case conditions.ListType == "map" && len(conditions.MapKeys) == 1 && conditions.MapKeys[0] == "type":
			return keyedConditions, nil
		default:
			return atomicConditions, nil
		}
	}
	return noConditions, errNoKind{gvk}
}
