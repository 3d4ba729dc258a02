package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server answers one client.
type server struct {
	program    string        // the path of reconcel
	folder     string        // the only one whose files are read, without links in its path
	kubeconfig string        // "": the usual one
	context    string        // of the kubeconfig, or ""
	timeout    time.Duration // of one call
	turns      chan struct{} // as many calls as it has places run at a time
	places     chan struct{} // as many calls as it has places run or wait
	//nolint:containedctx // The SDK gives calls a context that does not end with the program.
	ending context.Context
}

const (
	atOnce       = 2        // calls run at a time; the others wait
	mostCalls    = 100      // run or wait
	mostArgument = 64 << 10 // bytes
)

const instructions = `reconcel runs Kubernetes controllers that are written as rules, in YAML and CEL.
All tools only read. Files are named relative to the working folder.
Write rules in this order, and do not go on while a step fails: an example resource, rules.yaml, validate, render,
tests.yaml, test, plan. explain documents each key, function and check: ask it before you guess.
In a cluster, begin with status, then tree for one resource, then why for one field, object or condition.
Data of Secrets is withheld. What is computed from it shows values for "withheld" instead, so that plan and why say
that it is about to change, although it is not.
To write a CRD, to approve a change or to apply rules, ask the user to run reconcel or kubectl.`

// protocol returns the server with its tools.
func (s *server) protocol(version string) *mcp.Server {
	s.turns, s.places = make(chan struct{}, atOnce), make(chan struct{}, mostCalls)
	p := mcp.NewServer(&mcp.Implementation{Name: "reconcel-mcp", Title: "reconcel", Version: version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	add(s, p, "validate", `Check rules, without a cluster: all mistakes with their positions, and what to write instead.
Exit code: 0 valid, 1 some are wrong, 3 a file cannot be read.`, validate)
	add(s, p, "explain", `Print the documentation of a key of rules or test files, of a function or of a check.`, explain)
	add(s, p, "eval", `Evaluate a CEL expression for a resource in a file, without a cluster.
Exit code: 0 the value is printed, 1 the expression, the rules or the resource are wrong, or it waits for something,
3 a file cannot be read.`, eval)
	add(s, p, "render", `Show the objects and the status that rules render for resources in files, without a cluster.
Exit code: 0 all is rendered, 1 the rules or a resource are wrong, 3 a file cannot be read.`, render)
	add(s, p, "test", `Run tests of rules in a cluster in memory.
Exit code: 0 all passed, 1 a test failed or a file is invalid, 3 a file cannot be read.`, test)
	add(s, p, "plan", `Show what a change of rules would do to all resources of the cluster. No dry runs are sent: what the API
server or a webhook would reject is not known.
Exit code: 0 no object changes, 1 objects change, 3 the rules are invalid, or the cluster or a file cannot be read,
4 something fails that the running rules do not fail at.`, plan)
	add(s, p, "status", `List the resources in the cluster that are not ready, worst first, and what is wrong with the rules.
Exit code: 0 nothing is stalled, 1 something is stalled, 3 the cluster does not answer or a resource does not exist.`,
		status)
	add(s, p, "why", `Explain where a field of an object comes from, why the object exists, or a condition of a resource: the
expressions of the rules with their positions, and the values that they read. With resources, it needs no cluster.
Exit code: 0 the answer is printed, 1 the object or the field does not exist, or the rules are wrong,
3 a file or the cluster cannot be read.`, why)
	add(s, p, "tree", `Show a resource in the cluster with its children and their children, and the state of each.
Exit code: 0 the tree is printed, 3 the cluster does not answer or the resource does not exist.`, tree)
	return p
}

// A call is a command of reconcel.
type call struct {
	args    []string
	cluster bool // it reads one
}

// command begins a call with the command and its flags.
func command(name string, flags ...string) *call {
	return &call{args: append([]string{name}, flags...)}
}

// flag adds a flag for each of the values that is not empty.
func (c *call) flag(name string, values ...string) {
	for _, value := range values {
		if value != "" {
			c.args = append(c.args, "--"+name+"="+value)
		}
	}
}

// files adds a flag for each file. reconcel splits the values of such flags at commas, unless they are quoted.
func (c *call) files(name string, paths ...string) {
	for _, path := range paths {
		if strings.ContainsAny(path, ",\"\r\n") {
			path = `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
		}
		c.flag(name, path)
	}
}

// set adds a flag if it is wanted.
func (c *call) set(name string, wanted bool) {
	if wanted {
		c.args = append(c.args, "--"+name)
	}
}

// end adds arguments that are not flags, whatever they begin with.
func (c *call) end(values ...string) *call {
	c.args = append(c.args, "--")
	for _, value := range values {
		if value != "" {
			c.args = append(c.args, value)
		}
	}
	return c
}

// add adds a tool that runs the call for its input.
func add[In any](s *server, p *mcp.Server, name, description string, callOf func(In) *call) {
	closed := false
	mcp.AddTool(p, &mcp.Tool{Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			defer context.AfterFunc(s.ending, stop)()
			select {
			case s.places <- struct{}{}:
				defer func() { <-s.places }()
			default:
				return answer(printed{}, fmt.Errorf("%d calls run or wait: wait for their answers", mostCalls)), nil, nil
			}
			select {
			case s.turns <- struct{}{}:
				defer func() { <-s.turns }()
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
			result, err := s.run(ctx, callOf(in))
			return answer(result, err), nil, nil
		})
}

// run runs a call.
func (s *server) run(ctx context.Context, c *call) (result printed, err error) {
	if i := slices.IndexFunc(c.args, func(arg string) bool { return strings.ContainsRune(arg, 0) }); i >= 0 {
		return result, fmt.Errorf("%q contains a zero byte", c.args[i])
	}
	if i := slices.IndexFunc(c.args, func(arg string) bool { return len(arg) > mostArgument }); i >= 0 {
		return result, fmt.Errorf("%.20q… has more than %d KiB: write it into a file of rules", c.args[i], mostArgument>>10)
	}
	if !c.cluster {
		return s.reconcel(ctx, "", c.args...)
	}
	err = s.lend(ctx, func(kubeconfig string) (err error) {
		flags := []string{c.args[0], "--kubeconfig=" + kubeconfig, "--context=" + contextName}
		result, err = s.reconcel(ctx, kubeconfig, append(flags, c.args[1:]...)...)
		return err
	})
	return result, err
}

// answer returns what reconcel printed. It is an error only if there is no answer to what was asked.
func answer(p printed, err error) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: err != nil || p.code > 1 && p.code != 4}
	for _, text := range []string{p.out, p.notes} {
		if text != "" {
			result.Content = append(result.Content, &mcp.TextContent{Text: text})
		}
	}
	last := fmt.Sprintf("exit code %d", p.code)
	if err != nil {
		last = "error: " + err.Error()
	}
	result.Content = append(result.Content, &mcp.TextContent{Text: last})
	return result
}
