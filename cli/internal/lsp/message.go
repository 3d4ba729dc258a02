package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
)

// A message is a request, a response or a notification of JSON-RPC 2.0.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // a number or a string; none: a notification
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *wireError      `json:"error,omitempty"`
}

// A wireError is the answer to a request that failed.
type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *wireError) Error() string { return e.Message }

// Codes of errors, from JSON-RPC and the Language Server Protocol.
const (
	parseError       = -32700
	invalidRequest   = -32600
	methodNotFound   = -32601
	invalidParams    = -32602
	internalError    = -32603
	notInitialized   = -32002
	requestCancelled = -32800
)

func (m *message) isRequest() bool { return len(m.ID) > 0 && m.Method != "" }

// null is the result of a request without an answer: a nil result would be left out.
var null = json.RawMessage("null")

func answer(id json.RawMessage, result any, err *wireError) message {
	switch {
	case err != nil:
		result = nil
	case result == nil:
		result = null
	}
	if len(id) == 0 {
		id = null
	}
	return message{Version: "2.0", ID: id, Result: result, Error: err}
}

// maxFrame is the maximum size of a message in bytes. Editors send whole files, and
// package source accepts a file of 1 MiB.
const maxFrame = 64 << 20

var errFrame = errors.New("the input is not the Language Server Protocol")

// readFrame reads the content of one message. It returns io.EOF between messages.
func readFrame(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	header, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	size, err := strconv.Atoi(header.Get("Content-Length"))
	switch {
	case err != nil || size < 0:
		return nil, fmt.Errorf("%w: a message without Content-Length", errFrame)
	case size > maxFrame:
		return nil, fmt.Errorf("%w: a message of %d bytes, more than %d", errFrame, size, maxFrame)
	}
	content := make([]byte, size)
	_, err = io.ReadFull(r, content)
	return content, err
}

// writeFrame writes one message.
func writeFrame(w io.Writer, message any) error {
	content, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(content)), content...))
	return err
}

// An inbox reads messages ahead, so that a request can be cancelled before its turn.
type inbox struct {
	messages chan message
	mu       sync.Mutex
	waiting  map[string]bool // requests by ID: true after they are cancelled
	err      error           // why reading ended; nil at the end of the input
}

// queued is the number of messages that are read ahead.
const queued = 256

// read reads messages until exit, the end of the input, or an error.
func (b *inbox) read(r io.Reader) {
	defer close(b.messages)
	in := bufio.NewReader(r)
	for {
		content, err := readFrame(in)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.err = err
			return
		}
		var m message
		if err := json.Unmarshal(content, &m); err != nil {
			m = message{Error: &wireError{parseError, "the message is not valid JSON-RPC: " + err.Error()}}
		}
		switch {
		case m.Method == "$/cancelRequest":
			b.cancel(m)
			continue
		case m.isRequest():
			b.mu.Lock()
			b.waiting[string(m.ID)] = false
			b.mu.Unlock()
		}
		b.messages <- m
		if m.Method == "exit" {
			return
		}
	}
}

func (b *inbox) cancel(m message) {
	var p cancelParams
	if json.Unmarshal(m.Params, &p) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, waits := b.waiting[string(p.ID)]; waits {
		b.waiting[string(p.ID)] = true
	}
}

// begin reports whether a request is still wanted, and forgets it.
func (b *inbox) begin(id json.RawMessage) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	cancelled := b.waiting[string(id)]
	delete(b.waiting, string(id))
	return !cancelled
}

// The parts of the protocol that the server uses. Specification: Language Server
// Protocol 3.17, microsoft.github.io/language-server-protocol.
type (
	// position counts lines from 0, and UTF-16 code units from 0.
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	textRange struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string    `json:"uri"`
		Range textRange `json:"range"`
	}
	documentID struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	}
	openParams struct {
		Document struct {
			documentID
			Text string `json:"text"`
		} `json:"textDocument"`
	}
	changeParams struct {
		Document documentID   `json:"textDocument"`
		Changes  []textChange `json:"contentChanges"`
	}
	// textChange replaces a range, or the whole text.
	textChange struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	}
	closeParams struct {
		Document documentID `json:"textDocument"`
	}
	positionParams struct {
		Document documentID `json:"textDocument"`
		Position position   `json:"position"`
	}
	actionParams struct {
		Document documentID `json:"textDocument"`
		Range    textRange  `json:"range"`
	}
	cancelParams struct {
		ID json.RawMessage `json:"id"`
	}
	initializeParams struct {
		RootURI  string          `json:"rootUri"`
		Settings json.RawMessage `json:"initializationOptions"`
	}
	diagnostic struct {
		Range    textRange `json:"range"`
		Severity int       `json:"severity"`
		Code     string    `json:"code,omitempty"`
		Source   string    `json:"source"`
		Message  string    `json:"message"`
	}
	publishParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	textEdit struct {
		Range   textRange `json:"range"`
		NewText string    `json:"newText"`
	}
	completionItem struct {
		Label  string   `json:"label"`
		Kind   int      `json:"kind"`
		Detail string   `json:"detail,omitempty"`
		Doc    string   `json:"documentation,omitempty"`
		Sort   string   `json:"sortText,omitempty"`
		Edit   textEdit `json:"textEdit"`
	}
	completionList struct {
		Incomplete bool             `json:"isIncomplete"`
		Items      []completionItem `json:"items"`
	}
	hover struct {
		Contents markup    `json:"contents"`
		Range    textRange `json:"range"`
	}
	markup struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	codeAction struct {
		Title     string        `json:"title"`
		Kind      string        `json:"kind"`
		Preferred bool          `json:"isPreferred,omitempty"`
		Edit      workspaceEdit `json:"edit"`
	}
	workspaceEdit struct {
		Changes map[string][]textEdit `json:"changes"`
	}
	showParams struct {
		Type    int    `json:"type"`
		Message string `json:"message"`
	}
)

// Severities of diagnostics, and the type of a message about an error.
const (
	severityError   = 1
	severityWarning = 2
)

// Kinds of completion items, which editors show as icons.
const (
	itemMethod   = 2
	itemFunction = 3
	itemField    = 5
	itemVariable = 6
	itemValue    = 12
	itemKeyword  = 14
)

// capabilities are what the server can do, in the answer to initialize.
func capabilities(version string) any {
	return map[string]any{
		"serverInfo": map[string]string{"name": "reconcel", "version": version},
		"capabilities": map[string]any{
			"positionEncoding":   "utf-16",
			"textDocumentSync":   map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider": map[string]any{"triggerCharacters": []string{".", "?", "{", " "}},
			"hoverProvider":      true,
			"definitionProvider": true,
			"codeActionProvider": map[string]any{"codeActionKinds": []string{"quickfix"}},
		},
	}
}
