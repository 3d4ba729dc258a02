package plan

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/engine/discover"
	"reconcel/rules"
)

// A lister lists the watched namespaces, page by page.
type lister struct {
	cluster    *cluster.Cluster
	namespaces []string // none: all
}

// Primaries implements engine.Lister.
func (l lister) Primaries(ctx context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	return l.each(ctx, k, "", visit)
}

// Children implements engine.Lister.
func (l lister) Children(ctx context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	return l.each(ctx, k, rules.LabelRule, visit)
}

// Lookups implements engine.Lister.
func (l lister) Lookups(ctx context.Context, k discover.Kind, visit func(*unstructured.Unstructured) error) error {
	return l.each(ctx, k, "", visit)
}

func (l lister) each(ctx context.Context, k discover.Kind, selector string, visit func(*unstructured.Unstructured) error) error {
	namespaces := l.namespaces
	if len(namespaces) == 0 || !k.Namespaced {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		var failed error
		err := cluster.ForEach(ctx, l.cluster.Resource(&k, namespace), metav1.ListOptions{LabelSelector: selector}, func(u *unstructured.Unstructured) {
			if failed == nil {
				failed = visit(u)
			}
		})
		if err != nil {
			return fmt.Errorf("list %s: %w", k.GVR.Resource, err)
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}
