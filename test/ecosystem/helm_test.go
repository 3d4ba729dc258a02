package ecosystem

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func initHelm(t *testing.T, m *memory, namespace string) *action.Configuration {
	t.Helper()
	helm := action.NewConfiguration()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &m.kubeconfig, &namespace
	if err := helm.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	return helm
}

func loadChart(t *testing.T, folder string) chart.Charter {
	t.Helper()
	loaded, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// TestHelmManagesAReleaseInMemory installs, upgrades, rolls back, tests and uninstalls a chart in the shape of public
// ones, with each way to write and to wait.
func TestHelmManagesAReleaseInMemory(t *testing.T) {
	for name, way := range map[string]struct {
		serverSide bool
		side       string
		wait       kube.WaitStrategy
		hooks      bool // The watcher waits the whole time for hooks that are gone before it watches.
	}{"apply": {true, "true", kube.StatusWatcherStrategy, false},
		// Helm 3, and the legacy strategy, wait for the ReplicaSets of Deployments, which a cluster in memory does not have.
		"patch": {false, "false", kube.HookOnlyStrategy, true}} {
		t.Run(name, func(t *testing.T) {
			m := serveMemory(t)
			helm, web := initHelm(t, m, "shop"), loadChart(t, "testdata/webchart")
			deployed := func(revision int) {
				t.Helper()
				last, err := helm.Releases.Last("web")
				if err != nil {
					t.Fatal(err)
				}
				r, err := release.NewAccessor(last)
				if err != nil || r.Status() != "deployed" || r.Version() != revision {
					t.Errorf("revision %d is %s, %v", r.Version(), r.Status(), err)
				}
			}
			image := func() any {
				all, _ := m.field("Deployment.apps", "shop", "web", "spec", "template", "spec", "containers").([]any)
				return all[0].(map[string]any)["image"]
			}

			i := action.NewInstall(helm)
			i.ReleaseName, i.Namespace, i.CreateNamespace, i.ServerSideApply = "web", "shop", true, way.serverSide
			i.WaitStrategy, i.WaitForJobs, i.Timeout, i.DisableHooks = way.wait, true, soon, !way.hooks
			r, err := i.RunWithContext(t.Context(), web, map[string]any{})
			if err != nil {
				t.Fatal(err)
			}
			if made, err := release.NewAccessor(r); err != nil || !strings.Contains(made.Notes(), "web runs 2 replicas") {
				t.Errorf("the notes are %q, %v", made.Notes(), err)
			}
			deployed(1)
			for _, kind := range []string{"Deployment.apps", "Service", "ConfigMap", "Secret", "ServiceAccount", "Ingress.networking.k8s.io",
				"HorizontalPodAutoscaler.autoscaling", "Role.rbac.authorization.k8s.io", "RoleBinding.rbac.authorization.k8s.io"} {
				if m.find(kind, "shop", "web") == nil {
					t.Errorf("there is no %s", kind)
				}
			}
			if way.hooks && m.find("Job.batch", "shop", "web-migrate") != nil || way.hooks != (m.find("ConfigMap", "shop", "web-installed") != nil) {
				t.Error("the hook before the installation is still there, or that after it is not")
			}
			if !way.hooks && m.field("Deployment.apps", "shop", "web", "status", "readyReplicas") == nil {
				t.Error("the release is deployed before the Deployment is ready")
			}
			password := m.field("Secret", "shop", "web", "data", "password")

			u := action.NewUpgrade(helm)
			u.Namespace, u.WaitStrategy, u.WaitForJobs, u.Timeout, u.ServerSideApply = "shop", way.wait, true, soon, way.side
			u.DisableHooks = !way.hooks
			if _, err := u.RunWithContext(t.Context(), "web", web,
				map[string]any{"image": "registry.example.com/web:4.6", "ingress": false, "autoscaling": false, "replicas": 3}); err != nil {
				t.Fatal(err)
			}
			deployed(2)
			if image() != "registry.example.com/web:4.6" || m.find("Ingress.networking.k8s.io", "shop", "web") != nil ||
				!way.hooks && m.field("Deployment.apps", "shop", "web", "status", "readyReplicas") != int64(3) {
				t.Errorf("upgraded, the Deployment is %v", m.find("Deployment.apps", "shop", "web"))
			}
			if now := m.field("Secret", "shop", "web", "data", "password"); now != password {
				t.Errorf("the password %v became %v, though the chart looks it up", password, now)
			}

			b := action.NewRollback(helm)
			b.Version, b.WaitStrategy, b.Timeout, b.ServerSideApply = 1, way.wait, soon, way.side
			b.DisableHooks = !way.hooks
			if err := b.Run("web"); err != nil {
				t.Fatal(err)
			}
			deployed(3)
			if image() != "registry.example.com/web:4.5" || m.find("Ingress.networking.k8s.io", "shop", "web") == nil {
				t.Error("rolled back, the release is not that of the first revision")
			}

			v := action.NewReleaseTesting(helm)
			v.Namespace, v.Timeout = "shop", soon
			if _, shutdown, err := v.Run("web"); err != nil {
				t.Errorf("test: %v", err)
			} else if err := shutdown(); err != nil {
				t.Error(err)
			}

			d := action.NewUninstall(helm)
			d.WaitStrategy, d.Timeout, d.DeletionPropagation = kube.LegacyStrategy, soon, "foreground"
			if _, err := d.Run("web"); err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"Deployment.apps", "Service", "Secret", "Ingress.networking.k8s.io", "HorizontalPodAutoscaler.autoscaling"} {
				if m.find(kind, "shop", "web") != nil {
					t.Errorf("uninstalled, there is a %s", kind)
				}
			}
			if m.find("ClusterRole.rbac.authorization.k8s.io", "", "web") != nil {
				t.Error("uninstalled, there is a ClusterRole")
			}
			if _, err := helm.Releases.Last("web"); !errors.Is(err, driver.ErrReleaseNotFound) {
				t.Errorf("the release is still recorded: %v", err)
			}
		})
	}
}

// TestHelmInstallsACRDInMemory installs a chart with a CRD and a resource of its kind at once.
func TestHelmInstallsACRDInMemory(t *testing.T) {
	m := serveMemory(t)
	helm := initHelm(t, m, "default")
	i := action.NewInstall(helm)
	i.ReleaseName, i.Namespace, i.WaitStrategy, i.Timeout = "one", "default", kube.StatusWatcherStrategy, soon
	if _, err := i.RunWithContext(t.Context(), loadChart(t, "testdata/crdchart"), map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if got := m.field("Gadget.ecosystem.example.com", "default", "one", "spec", "image"); got != "registry.example.com/gadget:1" {
		t.Errorf("the Gadget has the image %v, want the default of the CRD", got)
	}
	u := action.NewUpgrade(helm)
	u.Namespace, u.WaitStrategy, u.Timeout = "default", kube.StatusWatcherStrategy, soon
	if _, err := u.RunWithContext(t.Context(), "one", loadChart(t, "testdata/crdchart"), map[string]any{"size": 4}); err != nil {
		t.Fatal(err)
	}
	if got := m.field("Gadget.ecosystem.example.com", "default", "one", "spec", "size"); got != int64(4) {
		t.Errorf("upgraded, the size is %v", got)
	}
	if _, err := u.RunWithContext(t.Context(), "one", loadChart(t, "testdata/crdchart"), map[string]any{"size": 0}); err == nil {
		t.Error("a size that the CRD forbids is accepted")
	}
	d := action.NewUninstall(helm)
	d.WaitStrategy, d.Timeout = kube.LegacyStrategy, soon
	if _, err := d.Run("one"); err != nil {
		t.Fatal(err)
	}
	if m.find("Gadget.ecosystem.example.com", "default", "one") != nil ||
		m.find("CustomResourceDefinition.apiextensions.k8s.io", "", "gadgets.ecosystem.example.com") == nil {
		t.Error("uninstalled, the Gadget is there, or its CRD is not")
	}
}
