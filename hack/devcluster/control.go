package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const socketName = "control.sock"

// The first word of a response on the control socket.
const (
	answerOK      = "ok"
	answerRefused = "refused"
	answerFailed  = "failed"
)

// control serves requests of one line, such as "restart kube-apiserver", on a
// socket in the data folder. Every user who can open the folder can control the
// cluster.
type control struct {
	listener net.Listener
	requests sync.WaitGroup
}

func (c *cluster) listen(ctx context.Context) (*control, error) {
	path := c.path(socketName)
	// A killed supervisor leaves the socket behind. The lock guarantees that it is
	// unused.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	s := &control{listener: listener}
	s.requests.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // The listener is closed.
			}
			s.requests.Go(func() { c.answer(ctx, conn) })
		}
	})
	return s, nil
}

func (s *control) close() {
	s.listener.Close()
	s.requests.Wait()
}

func (c *cluster) answer(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return // The client is gone.
	}
	verb, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	said, err := c.perform(ctx, verb, name)
	var refused refusedError
	switch {
	case errors.As(err, &refused):
		_, _ = fmt.Fprintf(conn, "%s\n%v\n", answerRefused, err)
	case err != nil:
		_, _ = fmt.Fprintf(conn, "%s\n%v\n", answerFailed, err)
	default:
		_, _ = fmt.Fprintf(conn, "%s\n%s", answerOK, said)
	}
}

// perform executes a request and waits for its effect: after `start` the component
// is ready, after `stop` its process has ended.
func (c *cluster) perform(ctx context.Context, verb, name string) (said string, err error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	if verb == "status" {
		for _, p := range c.processes {
			said += p.status() + "\n"
		}
		return said, nil
	}
	p, err := c.process(name)
	if err != nil {
		return "", err
	}
	start := time.Now()
	switch verb {
	case "stop":
		err = p.stop(stopGrace)
	case "kill":
		err = p.kill()
	case "pause":
		err = p.pause()
	case "resume":
		if err = p.resume(); err == nil {
			err = c.settle(ctx)
		}
	case "start":
		if err = p.start(); err == nil {
			err = c.settle(ctx)
		}
	case "restart":
		if err = p.stop(stopGrace); err == nil {
			err = p.start()
		}
		if err == nil {
			err = c.settle(ctx)
		}
	default:
		err = refusedError(fmt.Sprintf("there is no command %q", verb))
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s: done in %.1f s\n", verb, name, time.Since(start).Seconds()), nil
}

func (c *cluster) process(name string) (*process, error) {
	names := make([]string, len(c.processes))
	for i, p := range c.processes {
		if p.name == name {
			return p, nil
		}
		names[i] = p.name
	}
	return nil, refusedError(fmt.Sprintf("there is no component %q; there are %s", name, strings.Join(names, ", ")))
}

// settle waits until all components that can be ready are ready. It does not wait
// for components whose API server is stopped on purpose.
func (c *cluster) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.timeout)
	defer cancel()
	var answering []*process
	for i, p := range c.processes {
		if p.answers() {
			answering = append(answering, p)
		} else if i < 2 {
			break // Without etcd or the API server, no later component is ready.
		}
	}
	return c.waitReady(ctx, answering)
}

// runControl is the client: it sends a request to a running supervisor.
func runControl(verb string, args []string) error {
	flags := newFlags(verb)
	data := flags.String("data", "", "the data `folder` of the cluster")
	if err := parseFlags(flags, args, usage); err != nil {
		return err
	}
	component := flags.Arg(0)
	switch {
	case *data == "":
		return fmt.Errorf("%w: %s: --data is missing: which cluster?", errUsage, verb)
	case verb != "status" && component == "":
		return fmt.Errorf("%w: %s: name a component: %s", errUsage, verb, strings.Join(startOrder, ", "))
	case flags.NArg() > 1:
		return fmt.Errorf("%w: %s: unexpected argument %q", errUsage, verb, flags.Arg(1))
	}
	conn, err := net.Dial("unix", filepath.Join(*data, socketName))
	if err != nil {
		return fmt.Errorf("no cluster is running in %s: %w", *data, err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s\n", verb, component); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	status, text, _ := strings.Cut(string(answer), "\n")
	switch text = strings.TrimSuffix(text, "\n"); status {
	case answerOK:
		fmt.Println(text)
		return nil
	case answerRefused:
		return refusedError(text)
	case answerFailed:
		return errors.New(text)
	default:
		return errors.New("the cluster ended before it answered")
	}
}
