package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// tempPrefix is the prefix of each folder that is removed at the end.
const tempPrefix = "devcluster-"

// maxSocketPath is the maximum length of a socket's path on the strictest system
// (macOS).
const maxSocketPath = 103

// cluster is a control plane that this process runs.
type cluster struct {
	options  upOptions
	minor    string // of Kubernetes, if it is known
	data     string // the absolute path of the data folder
	commands map[string]command

	ca                    *authority
	serverCert, serverKey string
	api                   *api
	ports                 ports
	lock                  *os.File // on the data folder
	janitor               *janitor
	starter               *starter
	processes             []*process // in start order

	// changing is held while a request starts or stops components, so that requests
	// run one after another.
	changing sync.Mutex
	// failed receives the first component that ends unexpectedly before all are
	// ready.
	failed chan error
	// revive receives components that end unexpectedly later.
	revive chan *process
	ready  chan struct{} // closed when all components are ready for the first time
}

// ports are all ports that a cluster uses.
type ports struct {
	apiserver, controllerManager, scheduler *port
}

func newCluster(options upOptions, commands map[string]command, minor string) (*cluster, error) {
	c := &cluster{
		options: options, minor: minor, commands: commands,
		failed: make(chan error, len(startOrder)),
		revive: make(chan *process, len(startOrder)),
		ready:  make(chan struct{}),
	}
	for _, name := range options.without {
		delete(commands, name)
	}
	janitor, err := startJanitor()
	if err != nil {
		return nil, err
	}
	c.janitor, c.starter = janitor, newStarter()
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) path(name string) string { return filepath.Join(c.data, name) }
func (c *cluster) auditLog() string        { return c.path("audit.log") }
func (c *cluster) has(name string) bool    { return c.commands[name] != nil }

func (c *cluster) userConfig(name string) string {
	return filepath.Join(c.data, "users", strings.ReplaceAll(name, ":", "-")+".kubeconfig")
}

// prepare creates everything that the components read when they start.
func (c *cluster) prepare() (err error) {
	if err := c.makeData(); err != nil {
		return err
	}
	for _, p := range []**port{&c.ports.apiserver, &c.ports.controllerManager, &c.ports.scheduler} {
		if *p, err = reservePort(); err != nil {
			return err
		}
	}
	if c.ca, err = openAuthority(c.path("pki")); err != nil {
		return err
	}
	if c.serverCert, c.serverKey, err = c.ca.server(); err != nil {
		return err
	}
	server := c.ports.apiserver.url("")
	if c.api, err = newAPI(server, c.ca); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(server); err != nil {
		return err
	}
	if err := os.WriteFile(c.path("audit-policy.yaml"), []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	if c.has(kwokName) {
		if err := c.writeStages(); err != nil {
			return err
		}
	}
	c.makeProcesses()
	return nil
}

// makeData creates the data folder, or uses the given one.
func (c *cluster) makeData() error {
	if c.options.data == "" {
		dir, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return err
		}
		c.data = dir
		c.janitor.remove(dir)
	} else {
		dir, err := filepath.Abs(c.options.data)
		if err != nil {
			return err
		}
		c.data = dir
	}
	if longest := c.path("etcd-peer.sock"); len(longest) > maxSocketPath {
		return fmt.Errorf("%s: the path is too long for the sockets in it: choose a --data of at most %d bytes", c.data,
			maxSocketPath-len("/etcd-peer.sock"))
	}
	if err := os.MkdirAll(c.path("logs"), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(c.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	// The kernel releases the lock when this process ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%s: another devcluster is using this folder", c.data)
	}
	c.lock = lock
	return c.recordMinor()
}

func (c *cluster) writeKubeconfigs(server string) error {
	admin := user{name: "admin", groups: []string{masters}}
	files := map[string]user{
		c.path("kubeconfig"): admin,
		// Internal users with the permissions of Kubernetes' default roles.
		c.userConfig("system:kube-controller-manager"): {name: "system:kube-controller-manager"},
		c.userConfig("system:kube-scheduler"):          {name: "system:kube-scheduler"},
		c.userConfig(kwokName):                         {name: kwokName, groups: []string{masters}},
	}
	if c.options.kubeconfig != "" {
		files[c.options.kubeconfig] = admin
	}
	for _, u := range c.options.users {
		files[c.userConfig(u.name)] = u
	}
	for path, u := range files {
		if err := writeKubeconfig(path, server, c.ca, u); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) writeStages() error {
	stages, err := exec.Command(c.commands[kwokName][0], "stages").Output()
	if err != nil {
		return fmt.Errorf("kwok stages: %w", err)
	}
	return os.WriteFile(c.path("kwok-stages.yaml"), stages, 0o600)
}

func (c *cluster) makeProcesses() {
	made := map[string]func() component{
		etcdName: c.etcd, apiserverName: c.apiserver, controllerManagerName: c.controllerManager,
		schedulerName: c.scheduler, kwokName: c.kwok,
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		// These settings are meant for the tools of the user.
		return strings.HasPrefix(entry, "KUBECONFIG=") || strings.HasPrefix(entry, "ETCD_")
	})
	// Otherwise kwok reads its configuration from the home folder of the user.
	env = append(env, "KWOK_WORKDIR="+c.path("kwok"))
	for _, name := range startOrder {
		if !c.has(name) {
			continue
		}
		part := made[name]()
		part.command = c.commands[name]
		c.processes = append(c.processes, &process{
			component: part, logFile: filepath.Join(c.data, "logs", name+".log"), env: env,
			starter: c.starter, janitor: c.janitor, ended: c.componentEnded,
		})
	}
}

// componentEnded is called when a component ends unexpectedly.
func (c *cluster) componentEnded(p *process, err error) {
	select {
	case <-c.ready:
		c.revive <- p
	default:
		c.failed <- fmt.Errorf("%s ended before it was ready: %w\n%s", p.name, exitError(err), p.logTail())
	}
}

// exitError returns an error even for a process that ended without one.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// stopGrace is the time that a component has to stop. etcd and the API server would
// wait up to ten seconds for clients that stay connected. Killing them loses no
// data: everything that etcd has confirmed is already passed to the operating
// system.
const stopGrace = 3 * time.Second

// close stops the components and removes everything that the cluster has created.
func (c *cluster) close() error {
	c.changing.Lock()
	defer c.changing.Unlock()
	var failed []error
	if c.options.data == "" {
		// The data is not read again, so it need not be saved.
		failed = append(failed, endAll(c.processes, (*process).kill))
	} else {
		stop := func(p *process) error { return p.stop(stopGrace) }
		// Stop the clients together, then the API server, then etcd.
		clients := c.processes[min(2, len(c.processes)):]
		servers := slices.Clone(c.processes[:min(2, len(c.processes))])
		slices.Reverse(servers)
		failed = append(failed, endAll(clients, stop))
		for _, p := range servers {
			failed = append(failed, endAll([]*process{p}, stop))
		}
	}
	for _, p := range []*port{c.ports.apiserver, c.ports.controllerManager, c.ports.scheduler} {
		if p != nil {
			p.close()
		}
	}
	c.starter.close()
	failed = append(failed, c.janitor.close())
	return errors.Join(failed...)
}

// endAll ends all running processes in parallel.
func endAll(processes []*process, end func(*process) error) error {
	failed := make([]error, len(processes))
	var ends sync.WaitGroup
	for i, p := range processes {
		ends.Go(func() {
			var refused refusedError
			if err := end(p); err != nil && !errors.As(err, &refused) {
				failed[i] = err
			}
		})
	}
	ends.Wait()
	return errors.Join(failed...)
}

// start starts all components and waits until they are ready.
func (c *cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.timeout)
	defer cancel()
	for _, p := range c.processes[:2] {
		if err := p.start(); err != nil {
			return err
		}
		if err := c.waitReady(ctx, []*process{p}); err != nil {
			return err
		}
	}
	if err := c.createCRDs(ctx); err != nil {
		return err
	}
	for i := range c.options.nodes {
		if !c.has(kwokName) {
			break
		}
		if err := c.api.create(ctx, "/api/v1/nodes", newNode(nodeName(i))); err != nil {
			return err
		}
	}
	for _, p := range c.processes[2:] {
		if err := p.start(); err != nil {
			return err
		}
	}
	if err := c.waitReady(ctx, c.processes); err != nil {
		return err
	}
	close(c.ready)
	return nil
}

// waitReady waits until all processes are ready. Its error names the process that
// is not ready, what it waits for, and the end of its log.
func (c *cluster) waitReady(ctx context.Context, processes []*process) error {
	for _, p := range processes {
		err := c.await(ctx, p.ready)
		if errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, p.logTail())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits until nothing is missing or a component has failed. Its error says what
// was missing last, and for how long.
func (c *cluster) await(ctx context.Context, missing func(context.Context) error) error {
	began := time.Now()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := missing(ctx)
		if last == nil {
			return nil
		}
		select {
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("%w after %.0f s: %w", ctx.Err(), time.Since(began).Seconds(), last)
		case <-ticker.C:
		}
	}
}
