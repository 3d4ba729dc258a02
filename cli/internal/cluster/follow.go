package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"

	"reconcel/cli/internal/output"
	"reconcel/engine/discover"
)

// A Follower runs informers until their context ends.
type Follower struct {
	Complain  func(format string, args ...any)
	repeated  output.Damper // of complaints
	following sync.WaitGroup
}

// Say complains, once.
func (f *Follower) Say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); f.repeated.IsDue(text, time.Now()) {
		f.Complain("%s", text)
	}
}

// Start runs an informer of a kind, which keeps of objects only what reduced returns.
func (f *Follower) Start(ctx context.Context, k discover.Kind, informer cache.SharedIndexInformer,
	reduced cache.TransformFunc, handler cache.ResourceEventHandler) error {
	if err := informer.SetTransform(reduced); err != nil {
		return err
	}
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			f.Say("%s cannot be watched: %v", k.GVK.GroupKind(), err)
		}
	})
	if err != nil {
		return err
	}
	if _, err = informer.AddEventHandler(handler); err == nil {
		f.following.Go(func() { informer.RunWithContext(ctx) })
	}
	return err
}

// Wait waits until all informers have stopped.
func (f *Follower) Wait() { f.following.Wait() }
