// Package wire sends HTTP/1.1 requests to an API server in the goroutine of the caller.
//
// net/http gives each connection goroutines that read and write, so a request and its
// answer change goroutines several times, and HTTP/2 adds frames and the accounting of
// its windows. For requests as small as those of a controller, this takes more CPU than
// anything else that the controller does. Here, whoever sends a request writes it to a
// connection that is idle, and reads the answer from it. A watch has a connection of its
// own until it ends. Its system calls spare Go's scheduler work, as the comment of socket
// explains.
//
// There are no proxies, no redirects and no compression. Where a client configuration
// asks for something else, New returns nil, and the caller uses the transport of
// client-go.
package wire
