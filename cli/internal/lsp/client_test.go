package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"reconcel/cli/internal/lsp"
)

// A client is an editor that talks to the server over pipes.
type client struct {
	t     *testing.T
	to    *io.PipeWriter
	from  *bufio.Reader
	ended chan error
	id    int
	notes []reply // notifications that the test has not waited for yet
}

// A reply is a message of the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type object = map[string]any

// start starts a server that no editor has initialized.
func start(t *testing.T) *client {
	t.Helper()
	return startWith(t, lsp.Options{})
}

func startWith(t *testing.T, options lsp.Options) *client {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	c := &client{t: t, to: to, from: bufio.NewReader(from), ended: make(chan error, 1)}
	go func() {
		err := lsp.Serve(in, out, options)
		_ = in.CloseWithError(io.ErrClosedPipe)
		_ = out.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { _ = to.Close(); _ = from.Close() })
	return c
}

// open starts a server, and opens a file of these lines in a folder.
func open(t *testing.T, folder, text string) *client {
	t.Helper()
	c := start(t)
	c.initialize(object{"rootUri": "file://" + folder})
	c.open(folder, text)
	return c
}

func (c *client) open(folder, text string) {
	c.t.Helper()
	c.notify("textDocument/didOpen", object{"textDocument": object{"uri": c.uri(folder), "languageId": "yaml", "version": 0, "text": text}})
}

func (c *client) uri(folder string) string {
	return "file://" + filepath.ToSlash(filepath.Join(folder, "rules.yaml"))
}

func (c *client) initialize(params object) {
	c.t.Helper()
	if r := c.call("initialize", params); r.Error != nil {
		c.t.Fatal(r.Error.Message)
	}
	c.notify("initialized", object{})
}

func (c *client) write(content string) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.to, "Content-Length: %d\r\n\r\n%s", len(content), content); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(message object) {
	c.t.Helper()
	message["jsonrpc"] = "2.0"
	content, err := json.Marshal(message)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(content))
}

func (c *client) notify(method string, params object) {
	c.t.Helper()
	c.send(object{"method": method, "params": params})
}

// read reads one message of the server.
func (c *client) read() reply {
	c.t.Helper()
	header, err := textproto.NewReader(c.from).ReadMIMEHeader()
	if err != nil {
		c.t.Fatal(err)
	}
	size, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil {
		c.t.Fatal(err)
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(c.from, content); err != nil {
		c.t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(content, &r); err != nil {
		c.t.Fatalf("%v\n%s", err, content)
	}
	return r
}

// call sends a request and returns its answer.
func (c *client) call(method string, params object) reply {
	c.t.Helper()
	c.id++
	c.send(object{"id": c.id, "method": method, "params": params})
	return c.answer(c.id)
}

func (c *client) answer(id int) reply {
	c.t.Helper()
	for {
		r := c.read()
		if r.Method != "" {
			c.notes = append(c.notes, r)
			continue
		}
		if string(r.ID) != strconv.Itoa(id) {
			c.t.Fatalf("got the answer to %s, expected that to %d", r.ID, id)
		}
		return r
	}
}

// A finding is a diagnostic.
type finding struct {
	Range struct {
		Start, End struct{ Line, Character int }
	}
	Severity int
	Code     string
	Message  string
}

// diagnostics waits for the findings of a file as it was opened.
func (c *client) diagnostics(uri string) []finding {
	c.t.Helper()
	for {
		for i, r := range c.notes {
			var p struct {
				URI         string
				Version     *int
				Diagnostics []finding
			}
			if r.Method != "textDocument/publishDiagnostics" || json.Unmarshal(r.Params, &p) != nil {
				continue
			}
			if p.URI == uri && (p.Version == nil || *p.Version == 0) {
				c.notes = append(c.notes[:i:i], c.notes[i+1:]...)
				return p.Diagnostics
			}
		}
		c.notes = append(c.notes, c.read())
	}
}

// decode reads the result of a request.
func decode[T any](t *testing.T, r reply) (out T) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("error %d: %s", r.Error.Code, r.Error.Message)
	}
	if err := json.Unmarshal(r.Result, &out); err != nil {
		t.Fatalf("%v\n%s", err, r.Result)
	}
	return out
}

// cut returns a text without the mark of the cursor, and the cursor's position.
func cut(t *testing.T, text string) (string, object) {
	t.Helper()
	before, after, found := strings.Cut(text, "‸")
	if !found {
		t.Fatal("the text has no cursor ‸")
	}
	lines := strings.Split(before, "\n")
	return before + after, object{"line": len(lines) - 1, "character": len([]rune(lines[len(lines)-1]))}
}

// at asks about the cursor in a text.
func at[T any](t *testing.T, method, folder, text string) T {
	t.Helper()
	text, position := cut(t, text)
	c := open(t, folder, text)
	return decode[T](t, c.call(method, object{"textDocument": object{"uri": c.uri(folder)}, "position": position}))
}

// end ends the session as editors do, and returns the server's error.
func (c *client) end() error {
	c.t.Helper()
	c.call("shutdown", nil)
	return c.exit()
}

// exit ends the session at once. Editors read until the server is gone.
func (c *client) exit() error {
	c.t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c.from) }()
	c.notify("exit", nil)
	return <-c.ended
}
