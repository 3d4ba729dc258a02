//go:build unix

package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near.(*net.TCPConn), far.(*net.TCPConn)
}

// TestDirectConnectionsWait sends more than the kernel keeps, so writes and reads wait.
func TestDirectConnectionsWait(t *testing.T) {
	near, far := pair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	done := make(chan error, 1)
	go func() {
		_, err := direct(near).Write(sent)
		done <- errors.Join(err, near.CloseWrite())
	}()
	got, err := io.ReadAll(direct(far))
	if err != nil {
		_ = far.Close() // The write ends too.
	}
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes arrive, want the %d that were sent", len(got), len(sent))
	}
}

// TestDirectConnectionsFailAsOthers compares errors with those of package net.
func TestDirectConnectionsFailAsOthers(t *testing.T) {
	untilError := func(do func() (int, error)) error {
		for {
			if _, err := do(); err != nil {
				return err
			}
		}
	}
	read := func(c net.Conn) error { return untilError(func() (int, error) { return c.Read(make([]byte, 1)) }) }
	write := func(c net.Conn) error { return untilError(func() (int, error) { return c.Write(make([]byte, 1<<16)) }) }
	for name, c := range map[string]struct {
		prepare func(t *testing.T, near, far *net.TCPConn) error
		do      func(net.Conn) error
		want    error
	}{
		"read after the other end was closed": {func(_ *testing.T, _, far *net.TCPConn) error { return far.Close() }, read, io.EOF},
		"read after a reset":                  {reset, read, syscall.ECONNRESET},
		"write after a reset":                 {awaitReset, write, syscall.EPIPE},
		"read until a deadline":               {expire, read, os.ErrDeadlineExceeded},
		"write until a deadline":              {expire, write, os.ErrDeadlineExceeded},
		"read after Close":                    {func(_ *testing.T, near, _ *net.TCPConn) error { return near.Close() }, read, net.ErrClosed},
		"write after Close":                   {func(_ *testing.T, near, _ *net.TCPConn) error { return near.Close() }, write, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []string
			for _, wrap := range []func(net.Conn) net.Conn{direct, func(c net.Conn) net.Conn { return c }} {
				near, far := pair(t)
				if err := c.prepare(t, near, far); err != nil {
					t.Fatal(err)
				}
				err := c.do(wrap(near))
				if !errors.Is(err, c.want) {
					t.Errorf("the error is %v, want %v", err, c.want)
				}
				texts = append(texts, strings.NewReplacer(near.LocalAddr().String(), "near", far.LocalAddr().String(), "far").Replace(err.Error()))
			}
			if texts[0] != texts[1] {
				t.Errorf("the error is\n%s\nand of package net\n%s", texts[0], texts[1])
			}
		})
	}
}

// reset has the other end break the connection.
func reset(_ *testing.T, _, far *net.TCPConn) error {
	return errors.Join(far.SetLinger(0), far.Close())
}

// awaitReset returns when a reset has arrived.
func awaitReset(t *testing.T, near, far *net.TCPConn) error {
	if err := reset(t, near, far); err != nil {
		return err
	}
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the error is %v, want a reset", err)
	}
	return nil
}

// expire limits the time of reads and writes.
func expire(_ *testing.T, near, _ *net.TCPConn) error {
	return near.SetDeadline(time.Now().Add(10 * time.Millisecond))
}

// TestConnectionsAreDirect looks at the connections that requests use.
func TestConnectionsAreDirect(t *testing.T) {
	all, _ := servers(t, echo)
	for scheme, server := range all {
		own, transport := client(t, server)
		answer, err := own.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		if _, ok := transport.idle[0].raw.(*socket); !ok {
			t.Errorf("%s: the connection is a %T, want a socket", scheme, transport.idle[0].raw)
		}
	}
}

// TestDirectConnectionsNeedNoMemory counts allocations.
func TestDirectConnectionsNeedNoMemory(t *testing.T) {
	near, far := pair(t)
	from, to := direct(near), direct(far)
	buffer := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		_, err := from.Write(buffer)
		if _, readErr := io.ReadFull(to, buffer); err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
	}); n > 0 {
		t.Errorf("a write and a read allocate %v times", n)
	}
}
