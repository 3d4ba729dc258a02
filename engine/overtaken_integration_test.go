//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestDeletedWhileChildrenAreCreated deletes a primary when the first of its ten children
// has been created, while each write takes half a second. The children that are left are
// not created.
func TestDeletedWhileChildrenAreCreated(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/configmaps/") {
				<-time.After(500 * time.Millisecond)
			}
			return next.RoundTrip(r)
		})
	}
	var children []string
	for i := range 10 {
		children = append(children, configMapChild(fmt.Sprintf("c%d", i), fmt.Sprintf("${self.metadata.name}-%d", i)))
	}
	w.run(widgetRules("", children...))
	w.Create(widget("one", "value: first"))
	w.Eventually("the first child", func() error {
		if w.Get(configs, "one-0") == nil {
			return errors.New("it does not exist")
		}
		return nil
	})
	w.deleteWith(widgets, "one", metav1.DeletePropagationForeground)
	w.gone(widgets, "one")
	created := w.Requests(func(r devcluster.Request) bool {
		return r.User == e2e.User && r.Namespace == w.Namespace && r.Resource == "configmaps" && r.IsWrite()
	})
	if len(created) > 4 {
		t.Errorf("%d children were created, although the primary was deleted after the first: %v", len(created), devcluster.Tally(created))
	}
}
