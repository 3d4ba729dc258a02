package world

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
	"reconcel/sim"
)

// KindsOf returns how an engine finds the kinds of a cluster in memory.
func KindsOf(ks *sim.Kinds) discover.Kinds { return kinds{ks} }

// kinds implement discover.Kinds for a cluster in memory.
type kinds struct{ *sim.Kinds }

func (ks kinds) Find(_ context.Context, gvk schema.GroupVersionKind) (discover.Kind, error) {
	k := ks.Kind(gvk)
	if k == nil {
		return discover.Kind{}, discover.NoKindError{GVK: gvk}
	}
	return discover.Kind{GVK: gvk, GVR: gvk.GroupVersion().WithResource(k.Resource), Namespaced: k.Namespaced,
		Status: k.Status}, nil
}

func (ks kinds) Versions(_ context.Context, group string) (versions []string, err error) {
	for _, k := range ks.All() {
		if k.GVK.Group == group && !slices.Contains(versions, k.GVK.Version) {
			versions = append(versions, k.GVK.Version)
		}
	}
	slices.SortFunc(versions, strings.Compare)
	return versions, nil
}

func (ks kinds) Ownership(_ context.Context, gvk schema.GroupVersionKind) (discover.Ownership, error) {
	return discover.OwnershipOf(ks.Schemas(), gvk), nil
}
