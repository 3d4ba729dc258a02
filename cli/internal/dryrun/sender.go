package dryrun

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// all is the option that makes a request a dry run.
var all = []string{metav1.DryRunAll}

// A sender is the only holder of the real client. It sends reads and dry runs.
type sender struct{ client dynamic.Interface }

func (s sender) resource(of Target) dynamic.ResourceInterface {
	return s.client.Resource(of.Resource).Namespace(of.Namespace)
}

func (s sender) patch(ctx context.Context, w *Write, options metav1.PatchOptions) (*unstructured.Unstructured, error) {
	options.DryRun = all
	return s.resource(w.Target).Patch(ctx, w.Name, w.Patch, w.Body, options, subresources(w)...)
}

func (s sender) update(ctx context.Context, w *Write,
	u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.resource(w.Target).Update(ctx, u, metav1.UpdateOptions{FieldManager: w.Manager, DryRun: all},
		subresources(w)...)
}

func (s sender) delete(ctx context.Context, w *Write, options metav1.DeleteOptions) error {
	options.DryRun = all
	return s.resource(w.Target).Delete(ctx, w.Name, options)
}

func subresources(w *Write) []string {
	if w.Subresource == "" {
		return nil
	}
	return []string{w.Subresource}
}
