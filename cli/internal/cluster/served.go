package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"reconcel/engine/discover"
)

// Served returns all kinds that can be listed, each in the version that the API server
// prefers. incomplete joins an UnavailableError for each group and version that is unknown.
func (c *Cluster) Served(ctx context.Context) (all []discover.Kind, incomplete, err error) {
	// Preferred resources alone do not say which have a status.
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if failed, some := discovery.GroupDiscoveryFailedErrorGroups(err); some {
		incomplete, err = unavailable(failed), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("discover kinds: %w", err)
	}
	preferred := map[string]bool{}
	for _, g := range groups {
		preferred[g.PreferredVersion.GroupVersion] = true
	}
	slices.SortStableFunc(lists, func(a, b *metav1.APIResourceList) int {
		switch {
		case preferred[a.GroupVersion] == preferred[b.GroupVersion]:
			return 0
		case preferred[a.GroupVersion]:
			return -1
		}
		return 1
	})
	known := map[schema.GroupKind]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("discover kinds: %w", err)
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if gk := gv.WithKind(r.Kind).GroupKind(); slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") &&
				!known[gk] {
				known[gk] = true
				all = append(all, kindOf(gv, r, list.APIResources))
			}
		}
	}
	return all, incomplete, nil
}

// unavailable returns the error for groups that discovery lacks.
func unavailable(failed map[schema.GroupVersion]error) error {
	var all []error
	for gv, err := range failed {
		if _, stale := errors.AsType[discovery.StaleGroupVersionError](err); stale {
			err = errors.New("its backend does not answer")
		}
		all = append(all, discover.UnavailableError{GV: gv, Err: err})
	}
	slices.SortFunc(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(all...)
}

func kindOf(gv schema.GroupVersion, r *metav1.APIResource, beside []metav1.APIResource) discover.Kind {
	return discover.Kind{
		GVK: gv.WithKind(r.Kind), GVR: gv.WithResource(r.Name), Singular: r.SingularName, Namespaced: r.Namespaced,
		Status: slices.ContainsFunc(beside, func(other metav1.APIResource) bool {
			return strings.TrimSuffix(other.Name, "/status") == r.Name && other.Name != r.Name
		}),
	}
}
