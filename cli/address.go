package cli

import (
	"errors"
	"net"
)

// off is an address at which nothing is answered.
const off = "off"

// endpoint is an address to answer on, or off.
type endpoint struct{ text string }

func (e *endpoint) String() string { return e.text }
func (e *endpoint) Type() string   { return "address" }
func (e *endpoint) Set(s string) error {
	if _, err := hostOf(s); s != off && err != nil {
		return errors.New("expected an address such as 127.0.0.1:8080 or :8080, or off")
	}
	e.text = s
	return nil
}

// loopback is an address that only this machine reaches, or off.
type loopback struct{ text string }

func (l *loopback) String() string { return l.text }
func (l *loopback) Type() string   { return "address" }
func (l *loopback) Set(s string) error {
	if s != off {
		host, err := hostOf(s)
		if err != nil {
			return errors.New("expected an address such as 127.0.0.1:6060, or off")
		}
		if !isLoopback(host) {
			return errors.New("expected a loopback address such as 127.0.0.1:6060 (kubectl port-forward reaches it from elsewhere)")
		}
	}
	l.text = s
	return nil
}

// hostOf returns the host of an address that has a port, by its number or name.
func hostOf(address string) (host string, err error) {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
	case port == "":
		err = errors.New("no port")
	default:
		_, err = net.LookupPort("tcp", port)
	}
	return host, err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
