package discover

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Kind is one kind of object, as the API server serves it.
type Kind struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Singular   string // singular resource name, as used in kubectl arguments
	Short      string // short resource names, separated by spaces
	Namespaced bool
	Status     bool // has the status subresource
}

// Alike reports whether objects of both kinds are read and written in the same way. The names that people use do not
// count.
func (k Kind) Alike(other Kind) bool {
	k.Singular, k.Short = other.Singular, other.Short
	return k == other
}

// Kinds finds the kinds of a cluster.
type Kinds interface {
	// Find returns one kind, a NoKindError, or an UnavailableError.
	Find(ctx context.Context, gvk schema.GroupVersionKind) (Kind, error)
	// Versions returns the versions of a group, last those that are unavailable. An unknown
	// group has none.
	Versions(ctx context.Context, group string) ([]string, error)
	// Ownership returns how owners are recorded in the objects of a custom kind. The error is
	// a NoKindError until the API server has published the kind's schema.
	Ownership(ctx context.Context, gvk schema.GroupVersionKind) (Ownership, error)
}

// AnyVersion finds a kind in any version that the API server serves. A kind that is in none of
// the available versions may be in an unavailable one.
func AnyVersion(ctx context.Context, kinds Kinds, gk schema.GroupKind) (Kind, error) {
	versions, err := kinds.Versions(ctx, gk.Group)
	if err != nil {
		return Kind{}, err
	}
	var unknown error
	for _, version := range versions {
		k, err := kinds.Find(ctx, gk.WithVersion(version))
		if err == nil {
			return k, nil
		}
		if unknown == nil && !IsNoKind(err) {
			unknown = err
		}
	}
	if unknown != nil {
		return Kind{}, unknown
	}
	return Kind{}, NoKindError{GVK: gk.WithVersion("")}
}

// A NoKindError says that the API server does not serve a kind.
type NoKindError struct {
	GVK schema.GroupVersionKind
	// Served are the versions in which the API server does serve the kind.
	Served []string
}

// Error names the kind, and the versions that the API server serves instead.
func (e NoKindError) Error() string {
	text := fmt.Sprintf("the API server does not serve %s, kind %s", e.GVK.GroupVersion(), e.GVK.Kind)
	if len(e.Served) == 0 {
		return text + "; apply its CustomResourceDefinition"
	}
	return text + fmt.Sprintf("; it serves version %s: use that in the rules, or add %s to the CustomResourceDefinition",
		strings.Join(e.Served, ", "), e.GVK.Version)
}

// IsNoKind reports whether the cause of an error is a NoKindError.
func IsNoKind(err error) bool {
	_, missing := errors.AsType[NoKindError](err)
	return missing
}

// CheckScope returns an error if the kind cannot be watched in these namespaces;
// no namespaces means the whole cluster.
func (k Kind) CheckScope(namespaces []string) error {
	if len(namespaces) > 0 && !k.Namespaced {
		return scopeError{k.GVK.Kind}
	}
	return nil
}

// A scopeError says that a cluster-scoped kind cannot be watched in namespaces.
type scopeError struct{ kind string }

// Error names the kind.
func (e scopeError) Error() string {
	return e.kind + " is cluster-scoped, and reconcel watches only some namespaces"
}

// IsUnwatchable reports whether nothing can be listed: the API server does not
// serve the kind, or CheckScope has failed.
func IsUnwatchable(err error) bool {
	_, scope := errors.AsType[scopeError](err)
	return scope || IsNoKind(err)
}
