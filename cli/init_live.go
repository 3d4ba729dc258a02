package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/cli/internal/cluster"
	"reconcel/cli/internal/exit"
	"reconcel/engine/discover"
)

// readLive returns the objects of --live.
func (c initCommand) readLive(f *initFlags) ([]*unstructured.Unstructured, error) {
	var targets []cluster.Target
	for _, text := range f.live {
		target, ok := cluster.ParseTarget(text)
		if !ok || target.Name == "" {
			return nil, exit.Misused("--live %q: expected KIND/NAME, such as deployment/web", text)
		}
		targets = append(targets, target)
	}
	live, namespace, err := f.cluster.open(c.out, nil)
	if err != nil {
		return nil, err
	}
	f.namespace = cmp.Or(f.namespace, namespace)
	ctx, stop := untilSignal()
	defer stop()
	all, err := liveObjects(ctx, live, f.namespace, targets)
	if err = interrupted(ctx, err); err != nil {
		return nil, exit.Failure(err)
	}
	return all, nil
}

func liveObjects(ctx context.Context, live *cluster.Cluster, namespace string,
	targets []cluster.Target) (all []*unstructured.Unstructured, err error) {
	served, incomplete, err := live.Served(ctx)
	if err != nil {
		return nil, err
	}
	for _, target := range targets {
		i := slices.IndexFunc(served, func(k discover.Kind) bool { return target.IsOf(k.GVK, &k) })
		switch {
		case i < 0 && incomplete != nil:
			return nil, fmt.Errorf("%s: %w", target.Text, incomplete)
		case i < 0:
			return nil, fmt.Errorf("%s: the API server does not serve such a kind", target.Text)
		}
		u, err := live.Named(ctx, &served[i], namespace, target)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}
