package lsp_test

import (
	"errors"
	"strings"
	"testing"

	"reconcel/cli/internal/lsp"
)

func TestEndsAsTheProtocolSays(t *testing.T) {
	t.Run("shutdown and exit", func(t *testing.T) {
		if err := open(t, webs(t), head).end(); err != nil {
			t.Error(err)
		}
	})
	t.Run("exit without shutdown", func(t *testing.T) {
		c := open(t, webs(t), head)
		if err := c.exit(); !errors.Is(err, lsp.ErrNoShutdown) {
			t.Error(err)
		}
	})
	t.Run("the editor is gone", func(t *testing.T) {
		c := start(t)
		_ = c.to.Close()
		if err := <-c.ended; !errors.Is(err, lsp.ErrNoShutdown) {
			t.Error(err)
		}
	})
	t.Run("another protocol", func(t *testing.T) {
		for _, text := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "{}\n\n", "Content-Length: -1\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 5\r\n\r\n{}"} {
			c := start(t)
			_, _ = c.to.Write([]byte(text))
			_ = c.to.Close()
			if err := <-c.ended; err == nil || errors.Is(err, lsp.ErrNoShutdown) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

func TestAnswersWrongRequests(t *testing.T) {
	code := func(r reply) int {
		t.Helper()
		if r.Error == nil {
			t.Fatalf("got the result %s", r.Result)
		}
		return r.Error.Code
	}
	c := start(t)
	if got := code(c.call("textDocument/hover", object{})); got != -32002 {
		t.Errorf("before initialize: %d", got)
	}
	if got := code(c.call("initialize", object{"initializationOptions": object{"crd": 1}})); got != -32602 {
		t.Errorf("wrong settings: %d", got)
	}
	c.initialize(object{})
	for method, want := range map[string]int{"textDocument/rename": -32601, "": -32600, "initialize": -32600} {
		if method == "" {
			continue
		}
		if got := code(c.call(method, object{})); got != want {
			t.Errorf("%s: %d, expected %d", method, got, want)
		}
	}
	for _, params := range []any{nil, 1, []int{}, object{"textDocument": object{"uri": "file:///none.yaml"}}} {
		c.id++
		c.send(object{"id": c.id, "method": "textDocument/completion", "params": params})
		if got := code(c.answer(c.id)); got != -32602 {
			t.Errorf("%v: %d", params, got)
		}
	}
	c.write("{not JSON")
	if r := c.read(); string(r.ID) != "null" || r.Error == nil || r.Error.Code != -32700 {
		t.Errorf("wrong JSON: %+v", r)
	}
	c.notify("$/unknown", object{})
	c.notify("textDocument/didChange", object{"textDocument": 1})
	if r := c.call("shutdown", nil); r.Error != nil || string(r.Result) != "null" {
		t.Errorf("shutdown: %+v", r)
	}
	if got := code(c.call("textDocument/hover", object{})); got != -32600 {
		t.Errorf("after shutdown: %d", got)
	}
}

// TestCancels sends requests and their cancellations in one write, so that some wait.
func TestCancels(t *testing.T) {
	folder := webs(t)
	c := open(t, folder, child)
	c.diagnostics(c.uri(folder))
	where := object{"textDocument": object{"uri": c.uri(folder)}, "position": object{"line": 3, "character": 2}}
	const n = 50
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range n {
			c.send(object{"id": 1000 + i, "method": "textDocument/completion", "params": where})
			c.notify("$/cancelRequest", object{"id": 1000 + i})
		}
	}()
	for i := range n {
		if r := c.answer(1000 + i); r.Error != nil && r.Error.Code != -32800 {
			t.Errorf("request %d: %+v", i, r.Error)
		}
	}
	<-sent // the last cancellation may come after the answer
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// TestSurvivesAnyText asks about every place in texts that are no rules, or hardly.
func TestSurvivesAnyText(t *testing.T) {
	folder := webs(t)
	texts := map[string]string{
		"broken UTF-8":    head + "  status: {ready: \xff\xfe${self.\x80spec.}\n",
		"control":         head + "\x00\x01\u2028\t- \t:\n",
		"emoji":           head + "  status:\n    😀: ${self.metadata.name + '😀'}\n",
		"brackets":        head + "  let: {a: " + strings.Repeat("[{a: ", 5000),
		"unclosed":        head + "  status: {ready: \"${self.spec.ports.map(p, [p.\n",
		"carriage":        strings.ReplaceAll(child, "\n", "\r\n"),
		"byte order mark": "\ufeff" + child,
		"dashes":          "kind: Rules\n- - - - -\n---\n--- - a\n...\n-",
		"quotes":          "kind: Rules\n\"\n'\n\": \n'': \"\n? a\n: b\n*x\n&y {}\n<<: 1\n",
		"empty":           "",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			c := open(t, folder, text)
			for i, line := range strings.Split(text, "\n") {
				for column := 0; column <= min(len(line)+1, 40); column++ {
					where := object{"textDocument": object{"uri": c.uri(folder)}, "position": object{"line": i, "character": column}}
					for _, method := range []string{"textDocument/completion", "textDocument/hover", "textDocument/definition"} {
						if r := c.call(method, where); r.Error != nil {
							t.Fatalf("%s at %d:%d: %s", method, i, column, r.Error.Message)
						}
					}
				}
			}
			for _, where := range []object{{"line": -1, "character": -1}, {"line": 1 << 30, "character": 1 << 30}, {"line": 0, "character": 1 << 30}} {
				if r := c.call("textDocument/completion", object{"textDocument": object{"uri": c.uri(folder)}, "position": where}); r.Error != nil {
					t.Errorf("%v: %s", where, r.Error.Message)
				}
				c.notify("textDocument/didChange", object{"textDocument": object{"uri": c.uri(folder), "version": 1},
					"contentChanges": []object{{"range": object{"start": where, "end": object{"line": 0, "character": 0}}, "text": ""}}})
			}
			if err := c.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSurvivesHugeFiles(t *testing.T) {
	folder := webs(t)
	for name, text := range map[string]string{
		"larger than the limit": head + strings.Repeat("# "+strings.Repeat("x", 98)+"\n", 20_000),
		"one long line":         head + "  status: {a: " + strings.Repeat("x", 1_000_000),
		"many lines":            head + "  status:\n" + strings.Repeat("    a: ${self}\n", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, folder, text)
			c.diagnostics(c.uri(folder))
			if r := c.call("textDocument/completion", object{"textDocument": object{"uri": c.uri(folder)}, "position": object{"line": 10, "character": 4}}); r.Error != nil {
				t.Error(r.Error.Message)
			}
			if err := c.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
