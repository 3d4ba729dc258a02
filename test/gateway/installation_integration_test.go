//go:build integration

package gateway_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/gateway"
)

// Within these times a change is reconciled, and a process starts to work on a machine
// that also runs other tests.
const (
	promptly = 5 * time.Second
	startup  = time.Minute
)

// installation reconciles one Foo in a namespace of its own.
type installation struct {
	*e2e.World
	binary string
	rules  string // the file
	made   int    // changes to the Foo, with its creation

	slowest time.Duration // that it took to reconcile a change
}

// newInstallation prepares an installation that has no process yet.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{World: e2e.New(t, devcluster.Shared(t)), binary: e2e.Build(t)}
	if i.Cluster.Borrowed() {
		t.Skip("a borrowed cluster has no audit log")
	}
	crd, err := os.ReadFile("../../crds/samplecontroller.k8s.io_foos.yaml")
	if err != nil {
		t.Fatal(err)
	}
	i.CRD(string(crd))
	rules, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	i.rules = filepath.Join(t.TempDir(), "rules.yaml")
	// No other test has rules of this name.
	if err := os.WriteFile(i.rules, []byte(strings.Replace(string(rules), "name: foo\n", "name: foo-"+i.Namespace+"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// runs starts a process with a kubeconfig.
func (i *installation) runs(name, kubeconfig string, args ...string) *e2e.Process {
	i.Helper()
	args = append([]string{"-f", i.rules, "--kubeconfig", kubeconfig, "--namespaced", i.Namespace, "--namespace", i.Namespace}, args...)
	return e2e.Command{Binary: i.binary, Name: name, Args: args}.Start(i.T)
}

// works starts a process with a kubeconfig, and waits until it has reconciled a new Foo.
func (i *installation) works(kubeconfig string, args ...string) *e2e.Process {
	i.Helper()
	p := i.runs("reconcel", kubeconfig, append(args, "--listen", "off")...)
	p.Logs("msg=running", startup)
	i.change(promptly)
	return p
}

// change creates or changes the Foo, and waits until it is reconciled.
func (i *installation) change(within time.Duration) {
	i.Helper()
	i.edit()
	i.follows(within)
}

// edit creates or changes the Foo.
func (i *installation) edit() {
	i.Helper()
	i.made++
	if i.made == 1 {
		i.Create("{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: web}, spec: {deploymentName: web, replicas: 1}}")
		return
	}
	i.Patch(e2e.Foo, "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, i.replicas()))
}

// replicas is what the Foo says.
func (i *installation) replicas() int { return 1 + (i.made-1)%3 }

// follows waits until the Foo is reconciled. While other tests overload the machine, a look
// at the Foo takes longer, too, so each one counts as a tenth of a second at most.
func (i *installation) follows(within time.Duration) {
	i.Helper()
	const pause, longest = 50 * time.Millisecond, 100 * time.Millisecond
	started, counted := time.Now(), time.Duration(0)
	for {
		looked := time.Now()
		err := i.reconciled()
		if err == nil {
			break
		}
		if counted > within {
			i.Fatalf("waited %s for change %d of the Foo to be reconciled: %v", time.Since(started).Round(time.Millisecond), i.made, err)
		}
		i.Rest(pause)
		counted += min(time.Since(looked), longest)
	}
	i.slowest = max(i.slowest, time.Since(started))
}

// reconciled returns nil if the Deployment is as the Foo says, and so is the status of the
// Foo.
func (i *installation) reconciled() error {
	i.Helper()
	d := i.Get(e2e.Deployment, "web")
	if d == nil {
		return errors.New("there is no Deployment")
	}
	if got, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas"); got != int64(i.replicas()) {
		return fmt.Errorf("the Deployment has %d replicas, want %d", got, i.replicas())
	}
	return e2e.Current(i.Get(e2e.Foo, "web"))
}

// keepsWorking changes the Foo every few seconds until an instant. Each change must be
// reconciled promptly.
func (i *installation) keepsWorking(until time.Time) {
	i.Helper()
	for time.Now().Before(until) {
		i.change(promptly)
		i.Rest(min(2*time.Second, time.Until(until)))
	}
}

// wroteOnce checks by the audit log that each change of the Foo caused one write of the
// Deployment. More are allowed only for answers that were lost.
func (i *installation) wroteOnce(lost int) {
	i.Helper()
	i.Logf("%d changes, the slowest was reconciled after %s", i.made, i.slowest.Round(10*time.Millisecond))
	found := i.Requests(func(r devcluster.Request) bool {
		return r.User == e2e.User && r.Namespace == i.Namespace && r.Resource == "deployments" && r.Name == "web" && r.IsWrite() && r.Code < 300
	})
	if n := len(found); n < i.made || n > i.made+lost {
		i.Errorf("%d changes caused %d writes of the Deployment, and %d answers were lost: %v", i.made, n, lost, found)
	}
}

// nobodyRefused checks that each request had credentials that were valid.
func (i *installation) nobodyRefused(g *gateway.Gateway) {
	i.Helper()
	refused := g.Refused()
	for _, r := range refused[:min(len(refused), 10)] {
		i.Errorf("at %s, %s by %q was refused: %s", r.At.Format(time.TimeOnly), r, r.Identity, r.Refused)
	}
	if len(refused) > 10 {
		i.Errorf("%d requests were refused", len(refused))
	}
}

// identities returns, for each sort of request, the identities that sent it.
func identities(g *gateway.Gateway) map[string][]string {
	found := map[string][]string{}
	for _, r := range g.Requests(func(r gateway.Request) bool { return r.Resource != "" && r.Refused == "" }) {
		sort := r.Method + " " + r.Resource
		if r.Watch {
			sort = "WATCH " + r.Resource
		}
		if !slices.Contains(found[sort], r.Identity) {
			found[sort] = append(found[sort], r.Identity)
		}
	}
	return found
}
