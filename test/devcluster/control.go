package devcluster

// The components of a cluster.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// Restart stops a component and starts it again. A shutdown that takes more than three
// seconds is cut short. Restart returns when everything that can be ready is. The
// controller manager only has to be healthy: its controllers may still be listing
// objects.
func (c *Cluster) Restart(component string) error { return c.control("restart", component) }

// Stop stops a component as Restart does. It stays down until Start.
func (c *Cluster) Stop(component string) error { return c.control("stop", component) }

// Start starts a component after Stop or Kill, and returns when everything that
// can be ready is.
func (c *Cluster) Start(component string) error { return c.control("start", component) }

// Kill ends a component as a crash does. It stays down until Start.
func (c *Cluster) Kill(component string) error { return c.control("kill", component) }

// Pause freezes a component: it keeps its connections and answers no request.
func (c *Cluster) Pause(component string) error { return c.control("pause", component) }

// Resume continues a paused component, and returns when everything that can be ready is.
func (c *Cluster) Resume(component string) error { return c.control("resume", component) }

// Status returns a line for each component.
func (c *Cluster) Status() (string, error) {
	if c.Borrowed() {
		return "", ErrBorrowed
	}
	return c.command("status", "--data", c.Data())
}

func (c *Cluster) control(verb, component string) error {
	if c.Borrowed() {
		return ErrBorrowed
	}
	_, err := c.command(verb, "--data", c.Data(), component)
	return err
}
