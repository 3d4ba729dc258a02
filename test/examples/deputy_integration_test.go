//go:build integration

package examples

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/e2e"
)

// deputyName is the name of the ServiceAccount that rules impersonate.
const deputyName = "deployer"

// TestExamplesAsAnotherAccount has two examples impersonate an account when they write.
// The account gets the roles that reconcel rbac prints for it, and the process gets only
// the others.
func TestExamplesAsAnotherAccount(t *testing.T) {
	t.Parallel()
	binary := e2e.Build(t)
	for _, e := range table {
		var forms []string
		switch e.name {
		case "foo":
			forms = []string{"NAMESPACE/" + deputyName}
		case "backup-on-delete":
			forms = []string{deputyName}
		}
		for _, form := range forms {
			t.Run(e.name+" as "+strings.ReplaceAll(form, "/", " "), func(t *testing.T) {
				t.Parallel()
				cluster := reserveCluster(t)
				if cluster.Borrowed() {
					t.Skip("a borrowed cluster has no audit log")
				}
				w := newWorld(t, e, binary, cluster)
				w.actAs = form
				w.lifetime(laps(t))
			})
		}
	}
}

// appointDeputy sets serviceAccountName in the rules, if the test wants it.
func (w *world) appointDeputy() {
	w.Helper()
	w.deputy = &account{user: "system:serviceaccount:" + w.Namespace + ":" + deputyName}
	if w.actAs == "" {
		return
	}
	name := strings.ReplaceAll(w.actAs, "NAMESPACE", w.Namespace)
	for i, file := range w.files {
		data, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		changed := filepath.Join(w.TempDir(), filepath.Base(file))
		data = bytes.ReplaceAll(data, []byte("\n  for:\n"), []byte("\n  serviceAccountName: "+name+"\n  for:\n"))
		if err := os.WriteFile(changed, data, 0o600); err != nil {
			w.Fatal(err)
		}
		w.files[i] = changed
	}
}

func (w *world) isDeputys(role *unstructured.Unstructured) bool {
	return slices.Contains([]string{w.Namespace + ":" + deputyName, w.Namespace + ":" + w.Namespace + ":" + deputyName}, role.GetName())
}

// admitDeputy allows the impersonation in the test's namespace, as the owner of each
// account must do.
func (w *world) admitDeputy() {
	w.Helper()
	if w.actAs != deputyName {
		return
	}
	for _, u := range w.parse(fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[2]s, namespace: %[1]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "%[1]s:%[2]s"}, subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`,
		w.Namespace, deputyName)) {
		w.create(u)
	}
}
