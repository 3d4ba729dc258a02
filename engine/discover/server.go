package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

type server struct {
	discovery discovery.AggregatedDiscoveryInterfaceWithContext
}

// NewKinds returns the kinds of an API server. It caches nothing.
func NewKinds(d discovery.AggregatedDiscoveryInterfaceWithContext) Kinds { return server{d} }

func (s server) Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	k, err := s.findVersion(ctx, gvk)
	if IsNoKind(err) {
		return Kind{}, NoKindError{GVK: gvk, Served: s.otherVersions(ctx, gvk)}
	}
	return k, err
}

func (s server) findVersion(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error) {
	served, err := s.discovery.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return Kind{}, NoKindError{GVK: gvk}
	}
	if err != nil {
		return Kind{}, s.explain(ctx, gvk.GroupVersion(), "discover", err)
	}
	found := Kind{GVK: gvk}
	for i := range served.APIResources {
		r := &served.APIResources[i]
		if r.Kind == gvk.Kind && !strings.Contains(r.Name, "/") {
			found.GVR = gvk.GroupVersion().WithResource(r.Name)
			found.Singular, found.Namespaced = r.SingularName, r.Namespaced
			found.Short = strings.Join(r.ShortNames, " ")
		}
	}
	if found.GVR.Resource == "" {
		return Kind{}, NoKindError{GVK: gvk}
	}
	found.Status = slices.ContainsFunc(served.APIResources,
		func(r metav1.APIResource) bool { return r.Name == found.GVR.Resource+"/status" })
	return found, nil
}

// otherVersions returns the other versions in which the API server serves a kind.
// It is for a message, so a version that cannot be asked for is left out.
func (s server) otherVersions(ctx context.Context, gvk schema.GroupVersionKind) (other []string) {
	versions, err := s.Versions(ctx, gvk.Group)
	if err != nil {
		return nil
	}
	for _, v := range versions {
		if v == gvk.Version {
			continue
		}
		if _, err := s.findVersion(ctx, gvk.GroupKind().WithVersion(v)); err == nil {
			other = append(other, v)
		}
	}
	return other
}

// Versions implements Kinds. The API server lists a version whose backend does not answer as
// stale, and client-go leaves it out of its group.
func (s server) Versions(ctx context.Context, group string) (versions []string, err error) {
	groups, _, stale, err := s.discovery.GroupsAndMaybeResourcesWithContext(ctx)
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
	var unanswered []string
	for gv := range stale {
		if gv.Group == group {
			unanswered = append(unanswered, gv.Version)
		}
	}
	slices.Sort(unanswered)
	return append(versions, unanswered...), nil
}

// explain returns the error of a request about one group and version. It is an
// UnavailableError if the API server answers requests about others.
func (s server) explain(ctx context.Context, gv schema.GroupVersion, request string, err error) error {
	if isServerError(err) {
		return UnavailableError{GV: gv, Err: err}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() && ctx.Err() == nil {
		if _, failed := s.discovery.ServerGroupsWithContext(ctx); failed == nil {
			return UnavailableError{GV: gv, Err: err}
		}
	}
	return fmt.Errorf("%s %s: %w", request, gv, err)
}

// Ownership implements Kinds. It reads OpenAPI and not the CRD, since every
// authenticated client may read OpenAPI. The API server publishes the schema a
// moment after it has established a CRD.
func (s server) Ownership(ctx context.Context, gvk schema.GroupVersionKind) (Ownership, error) {
	paths, err := s.discovery.OpenAPIV3WithContext(ctx).PathsWithContext(ctx)
	if err != nil {
		return Ownership{}, fmt.Errorf("read OpenAPI: %w", err)
	}
	group, ok := paths["apis/"+gvk.GroupVersion().String()]
	if !ok {
		return Ownership{}, NoKindError{GVK: gvk}
	}
	raw, err := group.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return Ownership{}, s.explain(ctx, gvk.GroupVersion(), "read OpenAPI of", err)
	}
	o, err := ownershipIn(raw, gvk)
	if err != nil {
		return Ownership{}, fmt.Errorf("read OpenAPI of %s: %w", gvk.GroupVersion(), err)
	}
	return o, nil
}
