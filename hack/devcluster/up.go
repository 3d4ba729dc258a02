package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// announcement is the line on stdout that describes the cluster to a program.
type announcement struct {
	Kubeconfig string            `json:"kubeconfig"`
	Data       string            `json:"data"`
	AuditLog   string            `json:"auditLog"`
	Users      map[string]string `json:"users,omitempty"` // name to kubeconfig
}

func (a announcement) print() error {
	return json.NewEncoder(os.Stdout).Encode(a)
}

func runUp(ctx context.Context, args []string) error {
	options, err := parseUpOptions(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if options.untilStdinCloses {
		// Do not wait for this goroutine: only the end of stdin can interrupt the
		// read.
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	if kubeconfig := os.Getenv(envKubeconfig); kubeconfig != "" {
		return borrow(ctx, kubeconfig)
	}
	commands, minor, err := findCommands(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	sayMissing(commands)

	start := time.Now()
	c, err := newCluster(options, commands, minor)
	if err != nil {
		return err
	}
	err = c.run(ctx, start)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // An interrupt is the normal end.
	}
	say("stopping the cluster")
	err = errors.Join(err, c.close())
	if options.data == "" {
		say("removed %s", c.data)
	} else {
		say("kept its data in %s", c.data)
	}
	return err
}

// run starts the cluster, prints the announcement, and keeps the cluster running
// until ctx ends.
func (c *cluster) run(ctx context.Context, start time.Time) error {
	say("starting %s in %s", strings.TrimSpace("Kubernetes "+c.minor), c.data)
	if err := c.start(ctx); err != nil {
		return err
	}
	control, err := c.listen(ctx)
	if err != nil {
		return err
	}
	defer control.close()

	said := announcement{Kubeconfig: c.path("kubeconfig"), Data: c.data, AuditLog: c.auditLog(),
		Users: map[string]string{}}
	if c.options.kubeconfig != "" {
		if said.Kubeconfig, err = filepath.Abs(c.options.kubeconfig); err != nil {
			return err
		}
	}
	for _, u := range c.options.users {
		said.Users[u.name] = c.userConfig(u.name)
	}
	say("ready in %.1f s", time.Since(start).Seconds())
	say("  export KUBECONFIG=%s", said.Kubeconfig)
	say("  or: %s kubectl --data %s get nodes", os.Args[0], c.data)
	say("  logs: %s", c.path("logs"))
	if !c.options.untilStdinCloses {
		say("Ctrl-C stops it")
	}
	if err := said.print(); err != nil {
		return err
	}
	c.reviveUntilDone(ctx)
	return nil
}

// reviveDelay prevents a component that cannot run from using all of the CPU.
const reviveDelay = 2 * time.Second

// reviveUntilDone restarts components that end unexpectedly, as the kubelet does
// for a control plane that runs as Pods.
func (c *cluster) reviveUntilDone(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-c.revive:
			say("%s ended by itself; starting it again in %s\n%s", p.name, reviveDelay, p.logTail())
		}
		timer := time.NewTimer(reviveDelay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		c.reviveStopped()
	}
}

// reviveStopped starts components that ended unexpectedly and still do not run.
func (c *cluster) reviveStopped() {
	c.changing.Lock()
	defer c.changing.Unlock()
	for _, p := range c.processes {
		if !p.endedByItself() {
			continue
		}
		if err := p.start(); err != nil {
			say("%v", err)
		}
	}
}

// borrow announces an existing cluster instead of starting one.
func borrow(ctx context.Context, kubeconfig string) error {
	path, err := filepath.Abs(kubeconfig)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%s: %w", envKubeconfig, err)
	}
	say("using the cluster of %s, because %s names it: nothing is started, and there is no audit log", path, envKubeconfig)
	if err := (announcement{Kubeconfig: path}).print(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// findCommands compiles missing binaries, unless KUBEBUILDER_ASSETS names a folder
// with others, whose minor is unknown.
func findCommands(ctx context.Context) (commands map[string]command, minor string, err error) {
	var r release
	if os.Getenv(envAssets) == "" {
		if r, err = selectedRelease(); err != nil {
			return nil, "", err
		}
	}
	at, err := findLayout(r.minor)
	if err != nil {
		return nil, "", err
	}
	if os.Getenv(envAssets) == "" && !at.compiled() {
		if err := at.build(ctx, r); err != nil {
			return nil, "", err
		}
	}
	commands, err = at.commands()
	return commands, r.minor, err
}

// sayMissing prints which components a folder of other binaries does not contain,
// because the cluster behaves differently without them.
func sayMissing(commands map[string]command) {
	assets := os.Getenv(envAssets)
	if assets == "" {
		return
	}
	say("using the binaries in %s, because %s names it", assets, envAssets)
	for _, name := range startOrder {
		if commands[name] == nil {
			say("  no %s: the cluster runs without it", name)
		}
	}
}

// say prints to stderr, for people. stdout is for programs.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
