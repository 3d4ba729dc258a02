package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"reconcel/hack/bench/process"
	"reconcel/test/devcluster"
)

// load is what the API server and etcd have used since they started.
type load struct{ apiServer, etcd process.Child }

// loadOf reads what the components of a control plane have used.
func loadOf(cluster *devcluster.Cluster) (load, error) {
	children, err := process.Children(cluster.PID())
	if err != nil {
		return load{}, err
	}
	var l load
	for _, child := range children {
		switch component(child.Args) {
		case devcluster.APIServer:
			l.apiServer = child
		case devcluster.Etcd:
			l.etcd = child
		}
	}
	if l.apiServer.PID == 0 || l.etcd.PID == 0 {
		return load{}, errors.New("the API server or etcd does not run")
	}
	return l, nil
}

// component returns the component of a control plane that a command line starts: the name of the
// program, or its first argument if one program has all.
func component(args []string) string {
	name := filepath.Base(args[0])
	if name == "controlplane" && len(args) > 1 {
		return args[1]
	}
	return name
}

func (l load) cpu() time.Duration { return l.apiServer.Usage.CPU + l.etcd.Usage.CPU }

// overload says why an API server cannot carry more.
type overload string

// Error implements error.
func (o overload) Error() string { return string(o) }

// What an API server may take before it is overloaded.
const (
	timeLimit   = time.Hour
	leastMemory = 1 << 30 // bytes that the machine must have left
)

// guardInterval is how often the memory is read.
const guardInterval = time.Second

// guard returns a context that ends with an overload when the API server of a cluster cannot carry
// more: after an hour, when the machine has less than 1 GiB of memory left, or when a component
// has ended. stop must be called.
func guard(ctx context.Context, cluster *devcluster.Cluster) (_ context.Context, stop func(), err error) {
	before, err := loadOf(cluster)
	if err != nil {
		return nil, nil, err
	}
	ctx, expire := context.WithTimeoutCause(ctx, timeLimit, overload("it takes more than an hour"))
	ctx, fail := context.WithCancelCause(ctx)
	var busy sync.WaitGroup
	busy.Go(func() {
		for idle(ctx, guardInterval) == nil {
			if err := before.exceeded(cluster); err != nil {
				fail(err)
			}
		}
	})
	return ctx, func() {
		fail(nil)
		expire()
		busy.Wait()
	}, nil
}

// exceeded returns an overload if a component has ended since, or uses too much memory.
func (l load) exceeded(cluster *devcluster.Cluster) error {
	now, err := loadOf(cluster)
	if err != nil || now.apiServer.PID != l.apiServer.PID || now.etcd.PID != l.etcd.PID {
		return overload("the API server or etcd has ended")
	}
	free, err := process.AvailableMemory()
	if err != nil {
		return err
	}
	if free < leastMemory {
		return overload(fmt.Sprintf("the machine is out of memory: peaks of the API server and etcd are %d and %d MB",
			now.apiServer.Usage.Peak/1e6, now.etcd.Usage.Peak/1e6))
	}
	return nil
}
