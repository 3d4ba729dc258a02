//go:build integration

package examples

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// TestEveryPermissionIsNeeded withholds one permission after another, and expects the
// request that needs it to fail: in three examples, or in all with RECONCEL_SOAK=1. Each
// lifetime already checks that an example uses all permissions. This test checks that the
// audit log is reliable for that.
func TestEveryPermissionIsNeeded(t *testing.T) {
	t.Parallel()
	binary := e2e.Build(t)
	for _, e := range table {
		if !soak.Enabled() && !slices.Contains([]string{"foo", "config-propagation", "backup-on-delete"}, e.name) {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			cluster := reserveCluster(t)
			if cluster.Borrowed() {
				t.Skip("a borrowed cluster has no audit log")
			}
			w := newWorld(t, e, binary, cluster)
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

// refusal ends a lifetime with a missing permission. Waits panic with it, because a
// forbidden request can come at any time.
type refusal struct{}

// livesUntilRefused runs an example until a request is forbidden.
func (w *world) livesUntilRefused() {
	w.Helper()
	defer func() {
		if thrown := recover(); thrown != nil && thrown != (refusal{}) {
			panic(thrown)
		}
		w.abandon()
	}()
	w.enter()
	w.environment = []string{plainLists} // Lists are requested at the start.
	if w.withheld.resource == "leases" {
		w.environment = append(w.environment, "RECONCEL_LEADER_ELECT=true")
	}
	w.lives(func(string) {})
	w.process.await()
	w.FlushAudit()
	w.endsIfRefused()
	w.Errorf("it did not need to %s", w.withheld)
}

// abandon kills the process and deletes its primaries and their children. Otherwise the
// next test in this cluster would wait 10 s for them: they belong to another installation,
// whose Lease its process may not read.
func (w *world) abandon() {
	w.Helper()
	if w.process != nil {
		w.process.Kill()
	}
	for _, p := range w.primaries {
		if live, err := w.live(p); err == nil && len(live.GetFinalizers()) > 0 {
			w.patch(live, `{"metadata":{"finalizers":null}}`)
		}
	}
	for _, u := range w.everything() {
		w.remove(&u)
	}
	w.Eventually("its objects to be gone", func() error {
		if left := w.everything(); len(left) > 0 {
			return fmt.Errorf("%s is still there", describe(&left[0]))
		}
		return nil
	})
}

// isHere reports whether an object belongs to this test. Earlier tests in the same
// cluster had missing permissions, too, and left objects behind.
func (w *world) isHere(u *unstructured.Unstructured) bool {
	own := strings.TrimPrefix(w.Namespace, namespacePrefix)
	return strings.HasSuffix(u.GetNamespace(), own) || u.GetNamespace() == "" && strings.HasSuffix(u.GetName(), own)
}

// endsIfRefused panics with a refusal once the withheld permission was requested.
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
