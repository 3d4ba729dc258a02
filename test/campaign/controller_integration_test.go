//go:build integration

package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
	"reconcel/test/oracle"
)

// stage is what the plans share: a cluster, its observer, and processes.
type stage struct {
	*testing.T
	world   *e2e.World
	cluster *devcluster.Cluster
	binary  string
	history *oracle.History
	strips  *sync.Once // the policies of the strippings have been created

	mu         sync.Mutex
	shared     map[string]*controller // by workload
	references map[string]*reference  // by workload and mode
}

func newStage(t *testing.T, crds ...string) *stage {
	t.Helper()
	s := &stage{T: t, cluster: devcluster.Start(t, devcluster.Options{
		Users: []string{limitedUser + ":campaign"}, Controllers: "*,-root-ca-certificate-publisher-controller", // A ConfigMap in each namespace.
	}), binary: e2e.Build(t),
		strips: &sync.Once{}, shared: map[string]*controller{}, references: map[string]*reference{}}
	s.world = e2e.In(t, s.cluster, "default")
	s.world.CRD(faultCRD("Box", "boxes", "Namespaced") + "---" + faultCRD("Bin", "bins", "Namespaced") + "---" + faultCRD("Crate", "crates", "Cluster"))
	for _, crd := range crds {
		s.world.CRD(crd)
	}
	s.discoverGarbage()
	s.history = oracle.Observe(t, s.world.Client, observedResources...)
	return s
}

// discoverGarbage waits until the garbage collector knows the kinds of the workloads. By
// itself it discovers new kinds every 30 seconds.
func (s *stage) discoverGarbage() {
	s.Helper()
	if err := s.cluster.Restart(devcluster.ControllerManager); err != nil {
		s.Fatal(err)
	}
	owner := s.world.Create(`{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: owner}}`)
	s.world.Create(`{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, ownerReferences: [{apiVersion: faults.reconcel.dev/v1, kind: Box, name: owner, uid: ` +
		string(owner.GetUID()) + `}]}}`)
	s.world.Delete(faultKinds["Box"], "owner")
	s.world.Lacks(e2e.ConfigMap, "owned")
}

// controller is one process, or a leader with a standby, behind a proxy.
type controller struct {
	*testing.T
	stage *stage
	proxy *faultproxy.Proxy
	name  string // of the installation
	rules string // the file

	process   *e2e.Process
	standby   *e2e.Process   // nil without one
	processes []*e2e.Process // all of them
	election  string         // the setting of leader election

	mu      sync.Mutex
	written []faultproxy.Write
}

func (s *stage) newController(t *testing.T, name, rules string, way restart) *controller {
	t.Helper()
	return s.newControllerAs(t, e2e.User, name, rules, way)
}

// newControllerAs starts a controller as a user of the cluster.
func (s *stage) newControllerAs(t *testing.T, user, name, rules string, way restart) *controller {
	t.Helper()
	c := &controller{T: t, stage: s, name: name, proxy: faultproxy.Start(t, s.cluster.UserConfig(t, user)),
		rules: filepath.Join(t.TempDir(), "rules.yaml"), election: "false"}
	c.proxy.OnWrite(c.note)
	c.place(rules)
	if way == standby {
		c.election = "true"
	}
	c.process = c.start("reconcel")
	c.process.Runs()
	if way == standby {
		c.standby = c.start("standby")
		c.standby.Logs("standing by", time.Minute)
	}
	return c
}

func (c *controller) start(name string) *e2e.Process {
	p := e2e.Command{Binary: c.stage.binary, Name: name, Env: []string{"RECONCEL_LEADER_ELECT=" + c.election}, Args: []string{
		"-f", c.rules, "--kubeconfig", c.proxy.Kubeconfig(c), "--namespace", "default", "--name", c.name, "--log-level", "debug",
		"--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0",
	}}.Start(c.T)
	c.processes = append(c.processes, p)
	return p
}

// place replaces the rules file.
func (c *controller) place(rules string) {
	c.Helper()
	next := c.rules + ".next"
	write(c.T, next, rules)
	if err := os.Rename(next, c.rules); err != nil {
		c.Fatal(err)
	}
}

// note records a write when it is sent, and its code when it is answered.
func (c *controller) note(w faultproxy.Write) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !w.Committed {
		c.written = append(c.written, w)
		return true
	}
	for i := len(c.written) - 1; i >= 0; i-- {
		if c.written[i].N == w.N {
			c.written[i] = w
			break
		}
	}
	return true
}

// writes returns the writes whose path contains a text, in the order in which they were
// sent.
func (c *controller) writes(text string) (found []faultproxy.Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.written {
		if strings.Contains(w.Path, text) {
			found = append(found, w)
		}
	}
	return found
}

// replace lets the next process follow the one that has crashed.
func (c *controller) replace(way restart) {
	c.Helper()
	if way == standby {
		leases := c.stage.world.Client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"})
		// Its holder is dead: nothing has to wait until it expires.
		if err := leases.Namespace("default").Delete(c.Context(), c.name, metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
		c.process, c.standby = c.standby, nil
		return
	}
	c.process = c.start("restarted")
}
