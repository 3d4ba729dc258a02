package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// The paths of what a controller of Foos watches.
const (
	foos        = "/apis/samplecontroller.k8s.io/v1alpha1/foos"
	deployments = "/apis/apps/v1/deployments"
)

// receive watches a resource until ctx ends, and discards what it receives. It begins with
// the present state each time, without the objects that exist.
func (w *writer) receive(ctx context.Context, path string) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		err := w.receiveOnce(ctx, path)
		if ctx.Err() == nil {
			slog.Warn("watch ended, will watch again", "path", path, "error", err)
		}
	}, time.Second)
}

func (w *writer) receiveOnce(ctx context.Context, path string) error {
	text, err := w.client.Get().AbsPath(path).Param("limit", "1").Do(ctx).Raw()
	if err != nil {
		return err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	events, err := w.client.Get().AbsPath(path).Param("watch", "true").Param("resourceVersion", list.ResourceVersion).Stream(ctx)
	if err != nil {
		return err
	}
	defer events.Close()
	_, err = io.Copy(io.Discard, events)
	return err
}
