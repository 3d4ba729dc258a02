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

// tempPrefix begins the name of each folder that is removed at the end.
const tempPrefix = "devcluster-"

// maxSocketPath is what the narrowest system (macOS) takes for a socket's path.
const maxSocketPath = 103

// cluster is a control plane that this process runs.
type cluster struct {
	options  upOptions
	data     string // the folder, as an absolute path
	commands map[string]command

	ca                    *authority
	serverCert, serverKey string
	api                   *api
	ports                 ports
	lock                  *os.File // on the data folder
	janitor               *janitor
	starter               *starter
	processes             []*process // in start order

	// changing is held while components are started or stopped on request, so
	// that one request sees the result of the other.
	changing sync.Mutex
	// failed gets the first component that ends by itself before all are ready.
	failed chan error
	// revive gets those that end by themselves later.
	revive chan *process
	ready  chan struct{} // closed when everything was ready for the first time
}

// ports are the only ports that a cluster takes.
type ports struct {
	apiserver, controllerManager, scheduler *port
}

func newCluster(options upOptions, commands map[string]command) (*cluster, error) {
	c := &cluster{
		options: options, commands: commands,
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

// prepare makes everything that the components read when they start.
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

// makeData makes the folder or takes the one that was named.
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
		return fmt.Errorf("%s: the path is too long for the sockets in it: choose a --data of at most %d bytes", c.data, maxSocketPath-len("/etcd-peer.sock"))
	}
	if err := os.MkdirAll(c.path("logs"), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(c.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	// Held until this process ends, however it ends.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("%s: another devcluster is using this folder", c.data)
	}
	c.lock = lock
	return nil
}

func (c *cluster) writeKubeconfigs(server string) error {
	admin := user{name: "admin", groups: []string{masters}}
	files := map[string]user{
		c.path("kubeconfig"): admin,
		// Internal users, with the rights that Kubernetes' default roles give.
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
		// Settings that are meant for a user's own tools.
		return strings.HasPrefix(entry, "KUBECONFIG=") || strings.HasPrefix(entry, "ETCD_")
	})
	// kwok would read its configuration from the user's home.
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

// componentEnded is told about components that nobody stopped.
func (c *cluster) componentEnded(p *process, err error) {
	select {
	case <-c.ready:
		c.revive <- p
	default:
		c.failed <- fmt.Errorf("%s ended before it was ready: %w\n%s", p.name, exitError(err), p.logTail())
	}
}

// exitError names an end that the operating system does not call an error.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// stopGrace is how long a component may take to end in an orderly way. etcd and
// the API server would wait up to ten seconds for clients that do not go; killing
// them loses nothing, since what etcd has answered is with the operating system.
const stopGrace = 3 * time.Second

// close ends the components and takes everything back that was made.
func (c *cluster) close() error {
	c.changing.Lock()
	defer c.changing.Unlock()
	var failed []error
	if c.options.data == "" {
		// Nobody reads the data again: no reason to let it be written down.
		failed = append(failed, endAll(c.processes, (*process).kill))
	} else {
		stop := func(p *process) error { return p.stop(stopGrace) }
		// The clients together, then the API server, then its store.
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

// endAll ends those of the processes that run, all at once.
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

// start starts everything and waits until it is ready.
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

// waitReady waits until all of the processes are ready. Its error names the one
// that is not, what that waits for, and the end of its log.
func (c *cluster) waitReady(ctx context.Context, processes []*process) error {
	began := time.Now()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for _, p := range processes {
		for {
			missing := p.ready(ctx)
			if missing == nil {
				break
			}
			select {
			case err := <-c.failed:
				return err
			case <-ctx.Done():
				if errors.Is(ctx.Err(), context.Canceled) {
					return ctx.Err()
				}
				return fmt.Errorf("%s is not ready after %.0f s: %w\n%s", p.name, time.Since(began).Seconds(), missing, p.logTail())
			case <-ticker.C:
			}
		}
	}
	return nil
}
