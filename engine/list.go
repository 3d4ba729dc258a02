package engine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"

	"reconcel/engine/discover"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// eachOf visits all objects of a kind in the watched namespaces.
func (e *Engine) eachOf(ctx context.Context, k Kind, visit func(*watch.Object) error) error {
	return e.eachListed(ctx, k, metav1.ListOptions{}, watch.Primary, visit)
}

// eachListed visits the listed objects of a kind in the watched namespaces. An
// unreadable namespace does not affect the others.
func (e *Engine) eachListed(ctx context.Context, k Kind, options metav1.ListOptions, role watch.Role, visit func(*watch.Object) error) error {
	if err := k.CheckScope(e.options.Namespaces); err != nil {
		return err
	}
	var errs []error
	for _, namespace := range e.scope().Namespaces() {
		page := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := e.resource(k, namespace).List(ctx, options)
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", k.GVK.Kind, err)
			}
			return list, nil
		})
		errs = append(errs, page.EachListItem(ctx, options, func(item runtime.Object) error {
			return visit(watch.NewObject(item.(*unstructured.Unstructured), role))
		}))
	}
	return errors.Join(errs...)
}

// eachPrimary visits all objects of a kind in any version. A kind that is gone has no
// objects.
func (e *Engine) eachPrimary(ctx context.Context, gk schema.GroupKind, visit func(Kind, *watch.Object) error) error {
	if gk == rules.BundleKind.GroupKind() {
		return e.eachBundle(ctx, visit)
	}
	k, err := discover.AnyVersion(ctx, e.kinds, gk)
	if gone, err := e.judgeMissing(ctx, gk, err); gone || err != nil {
		return err
	}
	return e.eachOf(ctx, k, func(o *watch.Object) error { return visit(k, o) })
}
