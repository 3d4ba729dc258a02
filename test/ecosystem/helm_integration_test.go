//go:build integration

package ecosystem

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"reconcel/deploy"
	"reconcel/test/devcluster"
)

// TestHelmInstalls installs the chart of a release with Helm itself, upgrades it to other
// rules and fewer objects, and uninstalls it. The objects are those of manifests each time.
func TestHelmInstalls(t *testing.T) {
	cluster := devcluster.Shared(t)
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := cluster.Kubectl(args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	o := usual
	o.Name, o.Namespace = "helmed", "helmed"
	helm, kubeconfig := action.NewConfiguration(), cluster.Kubeconfig()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &o.Namespace
	if err := helm.Init(flags, o.Namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.LoadDir("../../deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	// check compares a release and the objects in the cluster with those of manifests.
	check := func(got release.Releaser, revision int, want installation) {
		t.Helper()
		r, err := release.NewAccessor(got)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status() != "deployed" || r.Version() != revision || !strings.Contains(r.Notes(), "helmed-rules") {
			t.Errorf("revision %d is %s, with the notes %q", r.Version(), r.Status(), r.Notes())
		}
		if diff := cmp.Diff(want.names, slices.Sorted(maps.Keys(parse(t, []byte(r.Manifest()))))); diff != "" {
			t.Errorf("-manifests +release:\n%s", diff)
		}
		if out, err := cluster.Kubectl("diff", "--server-side", "--force-conflicts", "-f", want.file); err != nil {
			t.Errorf("manifests would change: %v\n%s", err, out)
		}
	}

	first := install(t, o, "foo")
	i := action.NewInstall(helm)
	i.ReleaseName, i.Namespace, i.CreateNamespace = "shop", o.Namespace, true
	i.WaitStrategy, i.Timeout = kube.StatusWatcherStrategy, time.Minute // The nodes are simulated: Pods become ready.
	installed, err := i.RunWithContext(t.Context(), chart, first.values)
	if err != nil {
		t.Fatal(err)
	}
	check(installed, 1, first)
	kubectl("apply", "-f", "../../crds/samplecontroller.k8s.io_foos.yaml")
	kubectl("wait", "crd/foos.samplecontroller.k8s.io", "--for=condition=Established", "--timeout=60s")
	kubectl("apply", "-n", o.Namespace, "-f", "../../examples/foo/foo.yaml")

	o.Replicas = 1 // So there is no PodDisruptionBudget.
	second := install(t, o, "webapp")
	u := action.NewUpgrade(helm)
	u.Namespace, u.WaitStrategy, u.Timeout = o.Namespace, kube.StatusWatcherStrategy, time.Minute
	upgraded, err := u.RunWithContext(t.Context(), "shop", chart, second.values)
	if err != nil {
		t.Fatal(err)
	}
	check(upgraded, 2, second)
	if out := kubectl("get", "poddisruptionbudgets", "-n", o.Namespace, "-o", "name"); out != "" {
		t.Errorf("still there: %s", out)
	}

	d := action.NewUninstall(helm)
	// The watcher would wait the whole minute for objects that are gone before it watches.
	d.WaitStrategy, d.Timeout = kube.LegacyStrategy, time.Minute
	if _, err := d.Run("shop"); err != nil {
		t.Fatal(err)
	}
	if out := kubectl("get", "--ignore-not-found", "-o", "name", "-f", first.file); out != "" {
		t.Errorf("still there: %s", out)
	}
	if _, err := helm.Releases.Last("shop"); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("the release is still recorded: %v", err)
	}
	kubectl("get", "-n", o.Namespace, "foo/example-foo") // CRDs and their resources stay.
}

// An installation is what an example needs.
type installation struct {
	values map[string]any
	names  []string // of the objects
	file   string   // with the objects, as manifests prints them
}

// install returns the installation of an example. Helm creates the Namespace.
func install(t *testing.T, o deploy.Options, name string) installation {
	t.Helper()
	e := readExample(t, "../../examples/"+name+"/rules.yaml")
	needs, complaints := deploy.Needs(e.program, readKinds(t), deploy.Usual)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
	values, err := common.ReadValuesFile(filepath.Join(writeChart(t, o, o.Roles(needs), e.files), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects := parse(t, printed(t, o.Manifests(needs, e.files)))
	delete(objects, "Namespace//"+o.Namespace)
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": slices.Collect(maps.Values(objects))})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "manifests.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return installation{values, slices.Sorted(maps.Keys(objects)), file}
}
