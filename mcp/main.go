// Reconcel-mcp lets agents read what reconcel knows: it serves the Model Context Protocol on standard input and
// output, with a tool for each command of reconcel that only reads.
//
// It writes nothing, without an exception: neither files nor objects. A tool starts reconcel, beside this program or
// in PATH, with arguments that this program puts together. reconcel reads the files of one folder, and reaches the
// API server through this process, which lets reads pass, and takes the data out of Secrets.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/pflag"
)

// mostInput is the maximum size of a message of the client, in bytes.
const mostInput = 1 << 20

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	s := &server{}
	flags := pflag.NewFlagSet("reconcel-mcp", pflag.ContinueOnError)
	folder := flags.String("folder", ".", "the only `folder` whose files the tools read")
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `file` (default: $KUBECONFIG, ~/.kube/config)")
	flags.StringVar(&s.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.DurationVar(&s.timeout, "timeout", 2*time.Minute, "`time` after which a tool is stopped")
	flags.Usage = func() {
		fmt.Fprintf(os.Stderr, "Serve the Model Context Protocol on stdin and stdout, with tools that only read.\n\n"+
			"Usage:\n  reconcel-mcp [flags]\n\nFlags:\n%s", flags.FlagUsages())
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("%q: the program takes flags only", flags.Arg(0))
	case s.timeout <= 0:
		return fmt.Errorf("--timeout: %s is not a positive time", s.timeout)
	}
	var err error
	if s.folder, err = absolute(*folder); err != nil {
		return fmt.Errorf("--folder: %w", err)
	}
	if s.program, err = findReconcel(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s.ending = ctx
	err = s.protocol(version()).Run(ctx, &mcp.StdioTransport{MaxLineLength: mostInput})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// absolute returns the path of a folder without links.
func absolute(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return "", err
	}
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", folder)
	}
	return folder, err
}

// version returns the version of this program, as the build recorded it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
