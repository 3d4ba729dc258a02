package plan

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"reconcel/engine/discover"
	kindschema "reconcel/rules/schema"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// JudgeByCRD returns the judge of a command, which cannot wait: a kind without a
// CustomResourceDefinition is gone.
func JudgeByCRD(client dynamic.Interface) MissingJudge {
	return func(ctx context.Context, gk schema.GroupKind, err error) (gone bool, _ error) {
		if !discover.IsNoKind(err) {
			return false, err
		}
		if kindschema.BuiltInGroup(gk.Group) {
			return false, fmt.Errorf("kind %s is built in and not served now; repeat the command when it is (%w)", gk, err)
		}
		ctx, cancel := context.WithTimeout(ctx, WriteTimeout)
		defer cancel()
		list, readErr := client.Resource(crds).List(ctx, metav1.ListOptions{})
		if readErr != nil {
			return false, fmt.Errorf("cannot tell whether kind %s is gone, list CustomResourceDefinitions: %w", gk, readErr)
		}
		for i := range list.Items {
			if definesKind(&list.Items[i], gk) {
				return false, fmt.Errorf("kind %s is not served now, but CustomResourceDefinition %s exists; repeat the command "+
					"when the kind is served (%w)",
					gk, list.Items[i].GetName(), err)
			}
		}
		return true, nil
	}
}

func definesKind(crd *unstructured.Unstructured, gk schema.GroupKind) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return group == gk.Group && kind == gk.Kind
}

// A MissingJudge takes the error of a search for a kind. It reports whether the kind
// is gone with all its objects, and otherwise returns the error. An API server that
// starts, lags behind or has lost a backend lacks kinds whose objects exist.
type MissingJudge func(ctx context.Context, gk schema.GroupKind, err error) (gone bool, _ error)

const (
	// goneAfter is how long discovery must lack a kind before it counts as gone.
	goneAfter = 5 * time.Minute
	// absenceGap is how long a kind may go unsearched without its absence counting
	// from the start again. Every search is repeated within a minute.
	absenceGap = 2 * time.Minute
)

// JudgeByTime returns the judge of a running process, which may not read CRDs.
func JudgeByTime(c clock.PassiveClock) MissingJudge {
	type absence struct{ since, last time.Time }
	var mu sync.Mutex
	missing := map[schema.GroupKind]absence{}
	return func(_ context.Context, gk schema.GroupKind, err error) (gone bool, _ error) {
		mu.Lock()
		defer mu.Unlock()
		if !discover.IsNoKind(err) {
			delete(missing, gk)
			return false, err
		}
		now := c.Now()
		a, known := missing[gk]
		if !known || now.Sub(a.last) > absenceGap {
			a.since = now
		}
		a.last = now
		missing[gk] = a
		if now.Sub(a.since) >= goneAfter {
			return true, nil
		}
		return false, fmt.Errorf("kind %s is not served now; its objects count as gone when it is missing for %s (%w)", gk,
			goneAfter, err)
	}
}
