// Command serve serves the folder of the playground on loopback.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8090", "loopback `address`")
	flag.Parse()
	if err := serve(*address, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func serve(address, folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is not a loopback address, such as 127.0.0.1:8090", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	server := &http.Server{Handler: http.FileServer(http.Dir(folder)), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}
