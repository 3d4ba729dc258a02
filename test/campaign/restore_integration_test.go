//go:build integration

package campaign

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestRestore replaces the data of etcd with an earlier copy, as an administrator does
// with a backup. The versions of all objects go back, Boxes that were deleted since
// exist again, and one that was created since does not. The process must notice it, and
// end; the next one continues.
func TestRestore(t *testing.T) {
	t.Parallel()
	f := newFleet(t, devcluster.Start(t, fleetCluster), 40)
	run := func() *process {
		p := start(t, e2e.Build(t), "reconcel", "-f", write(t, filepath.Join(t.TempDir(), "rules.yaml"), fleetRules),
			"--kubeconfig", f.Cluster.UserKubeconfig(t, e2e.User), "--namespace", "default", "--listen", "off", "--leader-elect=false")
		p.Runs()
		return p
	}
	first := run()
	copied := f.converges(e2e.Patience)
	backup := filepath.Join(t.TempDir(), "etcd")
	f.replaceData(f.etcdData(), backup)

	all := f.size
	f.shrink(all / 2)
	if err := f.create(f.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f.change()
	}
	e2e.Eventually(t, "the child of a late Box", e2e.Patience, func() error {
		_, err := f.Resource(e2e.ConfigMap).Get(f.Context(), "late", metav1.GetOptions{})
		return err
	})
	if first.Ended() {
		t.Fatal("the process ended when the API server restarted")
	}

	f.replaceData(backup, f.etcdData())
	f.size, f.value = all, 1
	if err := first.Ends(maxReturn); err == nil || !first.Logged("gone back to an earlier state") {
		t.Errorf("the process ended with %v, without saying that the API server has gone back", err)
	}
	run()
	f.judgeUIDs(copied, f.converges(maxReturn))
	f.change()
	f.judgeUIDs(copied, f.converges(maxReturn))
	f.Quiet(time.Second)
}

func (f *fleet) etcdData() string { return filepath.Join(f.Cluster.Data(), "etcd") }

// replaceData replaces a folder with a copy of another one, while etcd and the API server
// are stopped.
func (f *fleet) replaceData(from, to string) {
	f.Helper()
	for _, do := range []func() error{
		func() error { return f.Cluster.Stop(devcluster.APIServer) },
		func() error { return f.Cluster.Stop(devcluster.Etcd) },
		func() error { return os.RemoveAll(to) },
		func() error { return os.CopyFS(to, os.DirFS(from)) },
		func() error { return f.Cluster.Start(devcluster.Etcd) },
		func() error { return f.Cluster.Start(devcluster.APIServer) },
	} {
		if err := do(); err != nil {
			f.Fatal(err)
		}
	}
}

// shrink deletes all Boxes but the first ones, and their children, because nothing else
// collects them in this cluster.
func (f *fleet) shrink(to int) {
	f.Helper()
	for i := to; i < f.size; i++ {
		for _, kind := range []schema.GroupVersionKind{faultKinds["Box"], e2e.ConfigMap} {
			if err := f.Resource(kind).Delete(f.Context(), boxName(i), metav1.DeleteOptions{}); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.size = to
}
