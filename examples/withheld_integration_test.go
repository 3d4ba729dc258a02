//go:build integration

package examples

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/internal/devcluster"
	"reconcel/internal/e2e"
)

// TestEveryPermissionIsNeeded takes one permission after the other away from the
// account, and looks for the request that it was for: in three examples, or with
// RECONCEL_SOAK=1 in all. That an example makes use of all that it is allowed is part
// of its life; this shows that the audit log tells the truth of it.
func TestEveryPermissionIsNeeded(t *testing.T) {
	binary := e2e.Build(t)
	for _, e := range table {
		if !soak() && !slices.Contains([]string{"foo", "config-propagation", "backup-on-delete"}, e.name) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			cluster := devcluster.Reserve(t)
			if cluster.Borrowed() {
				t.Skip("a borrowed cluster has no audit log")
			}
			w := newWorld(t, e, binary, cluster)
			w.establish()
			w.enter()
			granted := w.account.granted
			w.leave()
			for _, a := range granted {
				if w.mayBeUnused(a) {
					continue
				}
				t.Run(a.String(), func(t *testing.T) {
					w := newWorld(t, e, binary, cluster)
					w.withheld = a
					w.livesUntilRefused()
				})
			}
		})
	}
}

// A refusal is what ends a life in which a permission is missing: it is thrown by
// what waits, since it can come at any time.
type refusal struct{}

// livesUntilRefused lets an example live until a request is refused.
func (w *world) livesUntilRefused() {
	w.Helper()
	defer func() {
		if thrown := recover(); thrown != nil && thrown != (refusal{}) {
			panic(thrown)
		}
	}()
	w.enter()
	w.environment = []string{plainLists} // Lists are asked for at once.
	w.lives(func(string) {})
	w.process.await()
	w.FlushAudit()
	w.endsIfRefused()
	w.Errorf("it did not need to %s", w.withheld)
}

// isHere reports whether an object is the test's own. Others in the same cluster
// were refused something as well, and could not take along what they have made.
func (w *world) isHere(u *unstructured.Unstructured) bool {
	own := strings.TrimPrefix(w.Namespace, namespacePrefix)
	return strings.HasSuffix(u.GetNamespace(), own) || u.GetNamespace() == "" && strings.HasSuffix(u.GetName(), own)
}

// endsIfRefused throws a refusal if a permission is withheld and was asked for.
func (w *world) endsIfRefused() {
	if w.withheld == (access{}) || w.account == nil {
		return
	}
	a := w.withheld
	words := fmt.Sprintf("cannot %s resource %q in API group %q", a.verb, a.resource, a.group)
	if slices.ContainsFunc(w.refused(), func(r devcluster.Request) bool { return strings.Contains(r.Message, words) }) {
		panic(refusal{})
	}
}
