package main

import (
	"fmt"
	"syscall"
)

// port is a TCP port on loopback that this process reserves.
//
// Between choosing a free port and its use by a component, another process could
// take it. The same is true for each restart of the component. So this process
// keeps the port bound, without listening, while the cluster exists. The component
// shares it (--permit-port-sharing). Only processes of the same user can share a
// port, and connections go to the process that listens.
type port struct {
	socket int
	number int
}

func reservePort() (*port, error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	syscall.CloseOnExec(socket)
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, soReusePort, 1); err != nil {
		syscall.Close(socket)
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		syscall.Close(socket)
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	address, err := syscall.Getsockname(socket)
	if err != nil {
		syscall.Close(socket)
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	return &port{socket: socket, number: address.(*syscall.SockaddrInet4).Port}, nil
}

func (p *port) url(path string) string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", p.number, path)
}

func (p *port) close() { syscall.Close(p.socket) }
