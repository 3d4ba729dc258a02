package cli

import (
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"reconcel": run, plugin: run})
}

func run() { os.Exit(Main()) }

// TestScripts runs the built command in scripts.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs("..")
			e.Setenv("ROOT", root)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"freeport": freePort,
			"serve":    serve,
			"await":    await,
			"term":     term,
		},
	})
}

// exits CODE COMMAND ARGS... runs a command and checks its exit code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, expected %d", got, want)
	}
}

// freePort implements freeport VARIABLE, which sets a variable to a port without a
// listener.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Check(l.Close())
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// serve VARIABLE FOLDER serves the JSON files of a folder, and sets a variable to the
// server's address.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	folder := ts.MkAbs(args[1])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := os.ReadFile(filepath.Join(folder, filepath.Clean(r.URL.Path)+".json"))
		if err != nil {
			lacks(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], strings.TrimPrefix(server.URL, "http://"))
}

// await URL CODE REGEXP polls until the response is as expected.
func await(ts *testscript.TestScript, _ bool, args []string) {
	url, code, pattern := args[0], args[1], regexp.MustCompile(args[2])
	deadline := time.Now().Add(patience)
	last := "no answer"
	for time.Now().Before(deadline) {
		if response, err := http.Get(url); err == nil {
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			last = response.Status + ": " + string(body)
			if strconv.Itoa(response.StatusCode) == code && pattern.Match(body) {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s: expected %s %s, the last answer was %s", url, code, pattern, last)
}

// term ends the background commands with SIGTERM, as Kubernetes does.
func term(ts *testscript.TestScript, _ bool, _ []string) {
	for _, command := range ts.BackgroundCmds() {
		ts.Check(command.Process.Signal(syscall.SIGTERM))
	}
}
