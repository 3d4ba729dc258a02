// Command serve serves the folder of the playground on loopback.
package main

import (
	"flag"
	"fmt"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
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
	server := &http.Server{Handler: files(folder), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(listener)
}

// hashed matches the names of files that have a hash of the content.
var hashed = regexp.MustCompile(`\.[0-9a-f]{16}\.wasm$`)

// files serves a folder. A file that also exists with the ending .gz is sent compressed.
func files(folder string) http.Handler {
	plain := http.FileServer(http.Dir(folder))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		if hashed.MatchString(r.URL.Path) {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		compressed := filepath.Join(folder, filepath.FromSlash(path.Clean("/"+r.URL.Path))) + ".gz"
		if _, err := os.Stat(compressed); err == nil {
			w.Header().Set("Vary", "Accept-Encoding")
			if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(r.URL.Path)))
				http.ServeFile(w, r, compressed)
				return
			}
		}
		plain.ServeHTTP(w, r)
	})
}
