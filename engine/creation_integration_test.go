//go:build integration

package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"reconcel/engine/access"
	"reconcel/test/devcluster"
	"reconcel/test/faultproxy"
)

// deletes deletes each ConfigMap of the world with the label as soon as it appears, until
// the context ends.
func (w *world) deletes(ctx context.Context, label string) (n *atomic.Int32) {
	w.Helper()
	n = &atomic.Int32{}
	events, err := w.Resource(configs).Watch(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		w.Fatal(err)
	}
	go func() {
		for e := range events.ResultChan() {
			if o, ok := e.Object.(metav1.Object); ok && e.Type == watch.Added {
				if w.Resource(configs).Delete(ctx, o.GetName(), metav1.DeleteOptions{}) == nil {
					n.Add(1)
				}
			}
		}
	}()
	return n
}

// testChildThatIsAlwaysDeleted creates a child again more and more slowly while another
// client deletes it, and reports that. It recovers within a minute after the last deletion.
func testChildThatIsAlwaysDeleted(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	n := w.deletes(ctx, "reconcel.dev/child=a")
	w.run(widgetRules("", configMapChild("a", "${self.metadata.name}-a"), configMapChild("b", "${self.metadata.name}-b")))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-b", nil)
	w.says(widgets, "one", "Stalled", "True", "another writer deleted it each time reconcel creates it; stop that writer")
	w.Rest(10 * time.Second)
	if made := n.Load(); made < 10 || made > 14 {
		t.Errorf("it was deleted %d times", made)
	}
	stop()
	w.within(time.Minute, "the child to stay", func() error {
		if w.Get(configs, "one-a") == nil {
			return fmt.Errorf("it does not exist")
		}
		return nil
	})
	w.says(widgets, "one", "Ready", "True", "")
}

// TestNoChildForADeadPrimary deletes a primary whose deletion the controller observes late.
// It creates no child again.
func TestNoChildForADeadPrimary(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	proxy := faultproxy.Start(t, w.Cluster.Config())
	w.runWith(access.Options{Config: &rest.Config{Host: proxy.URL()}}, widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	w.Create(widget("one", "value: first"))
	w.Has(configs, "one-a", nil)
	lift := proxy.DelayWatch(func(r faultproxy.Request) bool { return r.Resource == "widgets" }, time.Hour)
	began := time.Now()
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	// The garbage collector does so too, but up to a minute after it first sees the kind.
	if err := w.Resource(configs).Delete(w.Context(), "one-a", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	w.Rest(5 * time.Second)
	lift()
	w.Rest(time.Second)
	w.FlushAudit()
	writes, err := w.Cluster.Requests(func(r devcluster.Request) bool {
		return r.Resource == "configmaps" && r.Verb == "patch" && r.Name == "one-a" && r.Namespace == w.Namespace && !r.Received.Before(began)
	})
	if err != nil || len(writes) > 0 {
		t.Errorf("%d writes of the child: %v %v", len(writes), writes, err)
	}
}
