package devcluster

// The components of a cluster.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// Restart stops a component, in an orderly way if that takes less than three
// seconds, and starts it again. It returns when everything that can be ready is;
// of the controller manager that means healthy, its controllers may still be
// reading what there is.
func (c *Cluster) Restart(component string) error { return c.control("restart", component) }

// Stop stops a component as Restart does. It stays away until Start.
func (c *Cluster) Stop(component string) error { return c.control("stop", component) }

// Start starts a component after Stop or Kill, and returns when everything that
// can be ready is.
func (c *Cluster) Start(component string) error { return c.control("start", component) }

// Kill ends a component as a crash would. It stays away until Start.
func (c *Cluster) Kill(component string) error { return c.control("kill", component) }

// Pause freezes a component: it keeps its connections and answers nothing.
func (c *Cluster) Pause(component string) error { return c.control("pause", component) }

// Resume lets a component go on after Pause, and returns when everything that can
// be ready is.
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
