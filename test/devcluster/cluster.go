package devcluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options configures a cluster. Its zero value is a whole control plane with one node.
type Options struct {
	// Users are added to the default user "reconcel", as "name:group,group".
	Users []string
	// Without names components to leave out, such as "kwok".
	Without []string
	// Controllers is the controller manager's list, such as "*,-garbagecollector".
	Controllers string
	// CRDs is a folder of CustomResourceDefinitions that exist before the controllers
	// start. The garbage collector discovers later ones only every 30 seconds.
	CRDs string
	// Nodes is how many nodes there are, 0 for one.
	Nodes int
	// Data is the folder for the cluster's data. If it is empty, the data is deleted with
	// the cluster.
	Data string
}

// Cluster is a running cluster.
type Cluster struct {
	binary  string
	said    announcement
	audit   auditReader
	admin   *rest.Config
	users   map[string]*rest.Config
	process *exec.Cmd
	stdin   io.Closer
	exited  chan struct{} // closed when process has been waited for
	exit    error         // of process, once exited is closed
	stderr  *tail
}

// announcement is the line that bin/devcluster prints when the cluster is ready.
type announcement struct {
	Kubeconfig string            `json:"kubeconfig"`
	Data       string            `json:"data"`
	AuditLog   string            `json:"auditLog"`
	Users      map[string]string `json:"users"`
}

// ErrBorrowed is returned if a cluster borrowed through DEVCLUSTER_KUBECONFIG does not
// support an operation.
var ErrBorrowed = errors.New("not possible on the cluster that DEVCLUSTER_KUBECONFIG names")

// Start starts a cluster that runs until the test ends.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	c, err := Run(options)
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("devcluster: %v", err)
		}
	})
	return c
}

// shared ends with the process: the end of the process closes the pipe. A package needs
// no TestMain for that.
var shared = sync.OnceValues(func() (*Cluster, error) {
	return Run(Options{})
})

// Shared returns the one cluster of this test binary, and starts it if necessary. Each
// test should use its own namespace.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	return c
}

// Run starts a cluster for a program that is not a test. It runs until Close, or until
// the process ends.
func Run(options Options) (*Cluster, error) {
	path, err := supervisor()
	if err != nil {
		return nil, err
	}
	process := exec.Command(path, options.arguments()...)
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &Cluster{binary: path, process: process, stdin: stdin, exited: make(chan struct{}), stderr: &tail{}}
	process.Stderr = c.stderr
	if err := process.Start(); err != nil {
		return nil, err
	}
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		c.exit = process.Wait()
		close(c.exited)
	}()
	if readErr != nil {
		return nil, errors.Join(fmt.Errorf("%s: it ended before it was ready", strings.Join(process.Args, " ")), c.Close())
	}
	if err := c.load(line); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.Borrowed() && options.CRDs != "" {
		if err := c.apply(options.CRDs); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (o Options) arguments() []string {
	args := []string{"up", "--until-stdin-closes"}
	for _, user := range o.Users {
		args = append(args, "--user="+user)
	}
	if len(o.Without) > 0 {
		args = append(args, "--without="+strings.Join(o.Without, ","))
	}
	if o.Controllers != "" {
		args = append(args, "--controllers="+o.Controllers)
	}
	if o.CRDs != "" {
		args = append(args, "--crds="+o.CRDs)
	}
	if o.Nodes != 0 {
		args = append(args, "--nodes="+strconv.Itoa(o.Nodes))
	}
	if o.Data != "" {
		args = append(args, "--data="+o.Data)
	}
	return args
}

func (c *Cluster) load(line []byte) (err error) {
	if err := json.Unmarshal(line, &c.said); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	if c.admin, err = loadConfig(c.said.Kubeconfig); err != nil {
		return err
	}
	c.users = map[string]*rest.Config{}
	for name, path := range c.said.Users {
		if c.users[name], err = loadConfig(path); err != nil {
			return err
		}
	}
	return nil
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kubeconfig, err)
	}
	// The client's default limit of 5 requests a second would distort measurements.
	config.QPS = -1
	return config, nil
}

// closeTimeout is longer than an orderly shutdown of all components takes.
const closeTimeout = time.Minute

// Close stops the cluster and waits until it is gone. Start registers it as a cleanup of
// the test, and who calls Run calls Close.
func (c *Cluster) Close() error {
	_ = c.stdin.Close() // It fails if the process has already exited.
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-c.exited:
	case <-timer.C:
		_ = c.process.Process.Kill()
		<-c.exited
		return fmt.Errorf("the cluster did not end within %s\n%s", closeTimeout, c.stderr)
	}
	if c.exit != nil {
		return fmt.Errorf("%w\n%s", c.exit, c.stderr)
	}
	return nil
}

// Borrowed reports whether the cluster comes from DEVCLUSTER_KUBECONFIG. Such a cluster
// has no audit log, only one user, and no control of components.
func (c *Cluster) Borrowed() bool { return c.said.Data == "" }

// PID returns the process whose children are the cluster's components, or 0 for a borrowed
// cluster.
func (c *Cluster) PID() int {
	if c.process == nil {
		return 0
	}
	return c.process.Process.Pid
}

// Config returns a configuration for the cluster's administrator, without client
// side limits. The caller may change it.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// UserConfig returns a configuration for one of the cluster's users: "reconcel",
// or one that Options.Users added. The caller may change it.
func (c *Cluster) UserConfig(t testing.TB, name string) *rest.Config {
	t.Helper()
	if c.Borrowed() {
		return c.Config()
	}
	config := c.users[name]
	if config == nil {
		t.Fatalf("devcluster: there is no user %q", name)
	}
	return rest.CopyConfig(config)
}

// apply applies a folder of CustomResourceDefinitions, and waits until they are served.
func (c *Cluster) apply(folder string) error {
	if _, err := c.Kubectl("apply", "-f", folder); err != nil {
		return err
	}
	_, err := c.Kubectl("wait", "-f", folder, "--for=condition=Established", "--timeout=60s")
	return err
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.said.Kubeconfig }

// UserKubeconfig returns the path of a user's kubeconfig.
func (c *Cluster) UserKubeconfig(t testing.TB, name string) string {
	t.Helper()
	path, err := c.KubeconfigOf(name)
	if err != nil {
		t.Fatalf("devcluster: %v", err)
	}
	return path
}

// KubeconfigOf is UserKubeconfig for a program that is not a test. It fails if there is no
// such user.
func (c *Cluster) KubeconfigOf(name string) (string, error) {
	if c.Borrowed() {
		return c.Kubeconfig(), nil
	}
	path := c.said.Users[name]
	if path == "" {
		return "", fmt.Errorf("there is no user %q", name)
	}
	return path, nil
}

// Data returns the folder with the cluster's logs and data, empty if Borrowed.
func (c *Cluster) Data() string { return c.said.Data }

// Kubectl runs kubectl as the administrator and returns what it printed.
func (c *Cluster) Kubectl(args ...string) (string, error) {
	args = slices.Concat([]string{"kubectl", "--kubeconfig", c.Kubeconfig()}, args)
	return c.command(args...)
}

func (c *Cluster) command(args ...string) (string, error) {
	cmd := exec.Command(c.binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "KUBECONFIG=") })
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("devcluster %s: %w: %s", strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const limit = 8 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-limit):]
	return len(p), nil
}

// String implements fmt.Stringer.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
