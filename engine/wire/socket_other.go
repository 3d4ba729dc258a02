//go:build !unix

package wire

import "net"

// isQuiet cannot tell here whether the server has closed a connection. A request on a
// closed one fails, and is repeated.
func isQuiet(net.Conn) bool { return true }

// direct returns the connection as it is.
func direct(c net.Conn) net.Conn { return c }
