package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"reconcel/engine/inventory"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/sim"
	api "reconcel/sim/server"
)

// A clusterOfInstallations is a cluster in memory with inventories, as processes of reconcel write them.
type clusterOfInstallations struct {
	*testing.T
	dynamic.Interface
	kubeconfig string
}

// serveInstallations serves an empty cluster whose user may do what may says.
func serveInstallations(t *testing.T, may func(*http.Request) bool) *clusterOfInstallations {
	t.Helper()
	kinds, err := sim.NewKinds(schema.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := sim.New(sim.Options{Kinds: kinds, Clock: clock.RealClock{}, History: 100})
	if err != nil {
		t.Fatal(err)
	}
	access, err := api.NewAccess()
	if err != nil {
		t.Fatal(err)
	}
	handler := api.New(api.Options{Cluster: cluster, Builtin: kinds, Token: access.Token,
		Problem: func(err error) { t.Errorf("problem: %v", err) }})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{access.Certificate}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.UserAgent(), "reconcel/") && !may(r) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,`+
					`"message":"configmaps is forbidden"}`)
				return
			}
			handler.ServeHTTP(w, r)
		})}
	ctx, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { handler.Run(ctx) })
	background.Go(func() { _ = s.ServeTLS(listener, "", "") })
	t.Cleanup(func() {
		cancel()
		_ = s.Close()
		background.Wait()
	})
	text, err := access.Kubeconfig(listener.Addr().String(), "test")
	if err != nil {
		t.Fatal(err)
	}
	c := &clusterOfInstallations{T: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	write(t, c.kubeconfig, string(text))
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	if c.Interface, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return c
}

func anything(*http.Request) bool { return true }

// installed adds the inventory of an installation, which holds the change of a rule and has a rollout of a kind; "" is
// none. The rollout is in a state.
func (c *clusterOfInstallations) installed(namespace, name, hash, kind, state string) {
	c.Helper()
	home := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}}
	_, _ = c.Resource(inventory.Resource.GroupVersion().WithResource("namespaces")).Create(c.Context(), home, metav1.CreateOptions{}) // It may exist.
	annotations := map[string]any{}
	if hash != "" {
		annotations[inventory.AnnotationHeld] = `[{"rule":"web","kind":"Foo.example.com","hash":"` + hash + `","message":"too much"}]`
	}
	if kind != "" {
		annotations[inventory.AnnotationRollouts] = `{"` + kind + `":{"to":"1","state":"` + state + `","reached":"7","updated":2,"resources":10}}`
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": inventory.Name(name), "namespace": namespace, "annotations": annotations,
			"labels": map[string]any{rules.LabelManagedBy: rules.ManagedBy}}}}
	if _, err := c.Resource(inventory.Resource).Namespace(namespace).Create(c.Context(), u, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// of returns an annotation of the inventory of the installation reconcel in a namespace.
func (c *clusterOfInstallations) of(namespace, annotation string) string {
	c.Helper()
	u, err := c.Resource(inventory.Resource).Namespace(namespace).Get(c.Context(), inventory.Name("reconcel"), metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return u.GetAnnotations()[annotation]
}

// reconcel runs a command, whose exit code and output must be as told. A trailing "..." stands for any rest.
func (c *clusterOfInstallations) reconcel(command string, code int, stdout, stderr string) {
	c.Helper()
	cmd := exec.Command("reconcel", append(strings.Fields(command), "--kubeconfig", c.kubeconfig)...)
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		c.Errorf("%s: exit code %d, want %d", command, got, code)
	}
	for _, stream := range []struct{ name, got, want string }{{"stdout", said.String(), stdout}, {"stderr", failed.String(), stderr}} {
		start, cut := strings.CutSuffix(stream.want, "...")
		if cut && strings.HasPrefix(stream.got, start) {
			continue
		}
		if diff := cmp.Diff(stream.want, stream.got); diff != "" {
			c.Errorf("%s: %s:\n%s", command, stream.name, diff)
		}
	}
}

// TestTheOnlyInstallationIsFound has an installation in another namespace than that of the context, default.
func TestTheOnlyInstallationIsFound(t *testing.T) {
	t.Parallel()
	c := serveInstallations(t, anything)
	c.reconcel("approve", 3, "", "error: no installation of reconcel found in the cluster...")
	c.reconcel("rollout status", 3, "", "error: no installation of reconcel found in the cluster...")
	c.reconcel("uninstall --yes", 3, "", "error: there is no inventory ConfigMap/default/reconcel-inventory: check --namespace and --name; "+
		"the installation may already be gone\n")
	c.installed("reconcel-system", "reconcel", "72b64afd9a", "Foo.example.com", "Progressing")

	c.reconcel("approve", 0, "72b64afd9a  rule web for Foo.example.com: too much\n", "")
	c.reconcel("rollout status", 0, "KIND             STATE        REACHED  MESSAGE\nFoo.example.com  Progressing  2 of 10  \n", "")
	c.reconcel("approve 1111111111", 3, "", "error: no change with the hash 1111111111 is held; 72b64afd9a  rule web for Foo.example.com: too much\n")
	c.reconcel("approve 72b64afd9a", 0, "change 72b64afd9a approved\n", "")
	if got := c.of("reconcel-system", inventory.AnnotationApproved); got != "72b64afd9a" {
		t.Errorf("approved: %q", got)
	}
	c.reconcel("rollout pause foo", 0, "rollout of Foo.example.com paused\n", "")
	if got := c.of("reconcel-system", inventory.AnnotationRollouts); !strings.Contains(got, `"state":"Paused"`) {
		t.Errorf("rollouts: %s", got)
	}
	c.reconcel("rollout status bar", 3, "", "error: no rollout of bar is in progress in reconcel-system/reconcel\n")
	c.reconcel("rollout undo bar", 3, "", "error: no rollout of bar is in progress in reconcel-system/reconcel\n")
}

// TestAnInstallationThatDoesNotExist expects an error that names those that exist.
func TestAnInstallationThatDoesNotExist(t *testing.T) {
	t.Parallel()
	c := serveInstallations(t, anything)
	c.installed("reconcel-system", "reconcel", "", "", "")
	c.installed("team-a", "shop", "", "", "")
	const exist = "; those that exist: reconcel-system/reconcel, team-a/shop\n"
	for _, command := range []string{"approve", "approve 72b64afd9a", "rollout status", "rollout undo foo"} {
		c.reconcel(command+" -n nowhere", 3, "", "error: there is no installation in the namespace nowhere"+exist)
		c.reconcel(command+" --name other", 3, "", "error: there is no installation with the name other"+exist)
		c.reconcel(command+" -n nowhere --name other", 3, "",
			"error: there is no installation nowhere/other: ConfigMap/nowhere/other-inventory does not exist"+exist)
	}
	c.reconcel("status --installation nowhere/other", 3, "", "error: the inventory, which has the kinds to list, cannot be read: "+
		"there is no installation nowhere/other: ConfigMap/nowhere/other-inventory does not exist"+exist)
	c.reconcel("uninstall --yes", 3, "", "error: there is no inventory ConfigMap/default/reconcel-inventory: check --namespace and --name; "+
		"the installation may already be gone"+exist)

	c.reconcel("approve", 0, "no change is held in reconcel-system/reconcel, team-a/shop\n", "")
	c.reconcel("rollout status -n team-a", 0, "no rollout is in progress in team-a/shop\n", "")
	c.reconcel("rollout undo", 3, "", "error: no rollout is in progress in reconcel-system/reconcel, team-a/shop\n")
}

// TestSeveralInstallations expects lists to name the installations, and a choice only where it is needed.
func TestSeveralInstallations(t *testing.T) {
	t.Parallel()
	c := serveInstallations(t, anything)
	c.installed("reconcel-system", "reconcel", "1111111111", "Foo.example.com", "Progressing")
	c.installed("team-a", "shop", "1111111111", "Bar.example.com", "Paused")
	c.installed("team-a", "reconcel", "2222222222", "Foo.example.com", "Failed")
	c.installed("team-b", "reconcel", "", "", "")

	c.reconcel("approve", 0, `1111111111  reconcel-system/reconcel: rule web for Foo.example.com: too much
2222222222  team-a/reconcel: rule web for Foo.example.com: too much
1111111111  team-a/shop: rule web for Foo.example.com: too much
`, "")
	c.reconcel("rollout status foo", 0, `INSTALLATION              KIND             STATE        REACHED  MESSAGE
reconcel-system/reconcel  Foo.example.com  Progressing  2 of 10  
team-a/reconcel           Foo.example.com  Failed       2 of 10  
`, "")

	c.reconcel("status", 1, `too much
too much
too much
team-a/reconcel: the rollout of Foo.example.com has failed: 2 of 10 resources have the new version; to continue: `+
		`reconcel rollout resume Foo.example.com -n team-a; to undo it: reconcel rollout undo Foo.example.com -n team-a
team-a/shop: the rollout of Bar.example.com is paused: 2 of 10 resources have the new version; to continue: `+
		`reconcel rollout resume Bar.example.com -n team-a --name shop; to undo it: reconcel rollout undo Bar.example.com -n team-a --name shop

leader of reconcel-system/reconcel: ...`, "")
	c.reconcel("status -o json", 1, `{
  "problems": [
    {
      "type": "ChangeHeld",
...`, "")

	c.reconcel("tree configmap/shop-inventory -n team-a", 0, "NAMESPACE ...", "too much\ntoo much\ntoo much\nteam-a/reconcel: the rollout of ...")

	c.reconcel("approve 2222222222", 0, "change 2222222222 approved\n", "")
	if got := c.of("team-a", inventory.AnnotationApproved); got != "2222222222" {
		t.Errorf("approved: %q", got)
	}
	c.reconcel("rollout resume bar", 0, "rollout of Bar.example.com resumed\n", "")
	c.reconcel("approve 1111111111", 2, "", "error: several installations have the change 1111111111, choose one: "+
		"-n reconcel-system --name reconcel, or -n team-a --name shop\n...")
	c.reconcel("rollout undo Foo.example.com", 2, "", "error: several installations have a rollout of Foo.example.com, choose one: "+
		"-n reconcel-system --name reconcel, or -n team-a --name reconcel\n...")
	if got := c.of("team-a", inventory.AnnotationRollouts); !strings.Contains(got, `"state":"Failed"`) {
		t.Errorf("a rollout is undone that was not chosen: %s", got)
	}
	c.reconcel("rollout undo foo -n team-a", 0, "rollout of Foo.example.com undone\n", "")
	c.reconcel("approve 1111111111 --name shop", 0, "change 1111111111 approved\n", "")
}

// TestInstallationsThatMayNotBeListed has a user who may only read the inventory of the namespace of the context.
func TestInstallationsThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	c := serveInstallations(t, func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/default/configmaps/") || !strings.Contains(r.URL.Path, "/configmaps")
	})
	c.reconcel("rollout status", 3, "", "error: inventories may not be listed in all namespaces, give -n NAMESPACE and --name NAME: ...")
	c.installed("default", "reconcel", "1111111111", "", "")
	c.installed("reconcel-system", "reconcel", "2222222222", "", "")
	c.reconcel("approve", 0, "1111111111  rule web for Foo.example.com: too much\n", "")
	c.reconcel("rollout status", 0, "no rollout is in progress in default/reconcel\n", "")
	c.reconcel("approve -n default --name other", 3, "", "error: there is no installation default/other: "+
		"ConfigMap/default/other-inventory does not exist; inventories may not be listed in all namespaces, ...")
	c.reconcel("approve -n reconcel-system", 3, "", "error: there is no installation in the namespace reconcel-system; inventories may not be...")
}

// TestADamagedInventoryHidesNoOther expects what the others hold, and an error.
func TestADamagedInventoryHidesNoOther(t *testing.T) {
	t.Parallel()
	c := serveInstallations(t, anything)
	c.installed("reconcel-system", "reconcel", "1111111111", "", "")
	c.installed("team-a", "shop", `"damaged`, "", "")
	const damaged = "error: inventory ConfigMap/team-a/shop-inventory: annotation reconcel.dev/held is damaged: ..."
	c.reconcel("approve", 3, "1111111111  rule web for Foo.example.com: too much\n", damaged)
	c.reconcel("rollout status", 3, "no rollout is in progress in reconcel-system/reconcel\n", damaged)
	c.reconcel("approve 1111111111", 0, "change 1111111111 approved\n", "")
}
