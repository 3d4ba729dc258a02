package engine

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/watch"
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
		errs = append(errs, e.eachIn(ctx, k, namespace, options, func(u *unstructured.Unstructured) error { return visit(watch.NewObject(u, role)) }))
	}
	return errors.Join(errs...)
}

// eachIn visits the listed objects of a namespace, or with "" of all namespaces, page
// by page.
func (e *Engine) eachIn(ctx context.Context, k Kind, namespace string, options metav1.ListOptions, visit func(*unstructured.Unstructured) error) error {
	options.Limit = 500
	for {
		list, err := e.resource(k, namespace).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", k.GVK.Kind, err)
		}
		for i := range list.Items {
			if err := visit(&list.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
