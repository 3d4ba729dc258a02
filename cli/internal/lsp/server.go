package lsp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"time"
)

// Options are what the server needs to know of the command that it is part of.
type Options struct {
	Version string // of reconcel

	// Project, if not nil, returns the settings of the workspace with this root folder,
	// or of the working directory for "". The server asks again when files change.
	Project func(root string) (Project, error)
}

// ErrNoShutdown says that the editor ended the session without the request shutdown.
var ErrNoShutdown = errors.New("the session ended without shutdown")

// debounce is the time without changes after which a file is judged.
const debounce = 100 * time.Millisecond

// A server answers one editor. Only serve uses its fields.
type server struct {
	Options
	out         io.Writer
	inbox       *inbox
	kinds       *workspace
	documents   map[string]*document
	initialized bool
	stopping    bool
	root        string   // the folder of the workspace, or ""
	editor      settings // what the editor has set
	read        Project  // what was read last
	project     Project  // both of them
	unset       string   // the last error about settings

	due     map[string]bool // the files to judge
	timer   *time.Timer
	running bool
	judged  chan judgement
	wrong   map[string][]string // the CRDs with mistakes, by the folder that uses them
	unread  string              // the last error about CRDs
}

// Serve answers the messages of one editor until it ends the session. It judges files
// in the background, and answers everything else in order.
func Serve(in io.Reader, out io.Writer, options Options) error {
	s := &server{
		Options: options, out: out,
		inbox:     &inbox{messages: make(chan message, queued), waiting: map[string]bool{}},
		kinds:     &workspace{folders: map[string]*folder{}, defines: map[string]stamp{}},
		documents: map[string]*document{}, wrong: map[string][]string{},
		due: map[string]bool{}, timer: time.NewTimer(time.Hour), judged: make(chan judgement, 1),
	}
	go s.inbox.read(in)
	defer func() {
		if s.running {
			<-s.judged
		}
	}()
	for {
		select {
		case m, open := <-s.inbox.messages:
			if !open || m.Method == "exit" {
				return s.end()
			}
			if err := s.handle(m); err != nil {
				return err
			}
		case <-s.timer.C:
			s.judge()
		case j := <-s.judged:
			s.running = false
			if err := s.publish(j); err != nil {
				return err
			}
			s.judge()
		}
	}
}

func (s *server) end() error {
	switch {
	case s.stopping:
		return nil
	case s.inbox.err != nil:
		return s.inbox.err
	}
	return ErrNoShutdown
}

// handle answers a message. It returns an error if the answer cannot be sent.
func (s *server) handle(m message) error {
	if m.Error != nil && m.Method == "" {
		return s.send(answer(nil, nil, m.Error))
	}
	if !m.isRequest() {
		if s.initialized && !s.stopping {
			_, _ = s.guard(func() (any, *wireError) { s.notified(m); return nil, nil }) // A notification has no answer.
		}
		return nil
	}
	if !s.inbox.begin(m.ID) {
		return s.send(answer(m.ID, nil, &wireError{requestCancelled, "the request was cancelled"}))
	}
	result, err := s.guard(func() (any, *wireError) { return s.request(m) })
	return s.send(answer(m.ID, result, err))
}

// guard turns a panic into an answer: a mistake in one must not end the session, and
// with it all help.
func (s *server) guard(handle func() (any, *wireError)) (result any, err *wireError) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &wireError{internalError, fmt.Sprintf("internal error (%T)", p)}
		}
	}()
	return handle()
}

func (s *server) send(m any) error { return writeFrame(s.out, m) }

func (s *server) notify(method string, params any) error {
	content, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return s.send(message{Version: "2.0", Method: method, Params: content})
}

func (s *server) request(m message) (any, *wireError) {
	switch {
	case m.Method == "initialize" && !s.initialized:
		return s.initialize(m.Params)
	case m.Method == "initialize" || s.stopping:
		return nil, &wireError{invalidRequest, m.Method + " is not possible now"}
	case !s.initialized:
		return nil, &wireError{notInitialized, "the first request must be initialize"}
	case m.Method == "shutdown":
		s.stopping = true
		return nil, nil
	}
	switch m.Method {
	case "textDocument/completion":
		return at(s, m, s.complete)
	case "textDocument/hover":
		return at(s, m, s.hover)
	case "textDocument/definition":
		return at(s, m, s.definition)
	case "textDocument/codeAction":
		var p actionParams
		if json.Unmarshal(m.Params, &p) != nil || s.documents[p.Document.URI] == nil {
			return nil, &wireError{invalidParams, "no open document and range are named"}
		}
		return s.documents[p.Document.URI].actions(p.Range), nil
	}
	return nil, &wireError{methodNotFound, "unknown method " + m.Method}
}

// at answers a request about a position of an open file.
func at[T any](s *server, m message, find func(*document, spot) T) (any, *wireError) {
	var p positionParams
	if json.Unmarshal(m.Params, &p) != nil {
		return nil, &wireError{invalidParams, "no document and position are named"}
	}
	d := s.documents[p.Document.URI]
	if d == nil {
		return nil, &wireError{invalidParams, p.Document.URI + " is not open"}
	}
	if !d.isRules() {
		return nil, nil
	}
	return find(d, d.spot(p.Position)), nil
}

func (s *server) initialize(params json.RawMessage) (any, *wireError) {
	var p initializeParams
	var set settings
	if json.Unmarshal(params, &p) != nil || len(p.Settings) > 0 && json.Unmarshal(p.Settings, &set) != nil {
		return nil, &wireError{invalidParams, "initializationOptions must be {crd: [...], strict: true, allow-kind: [...], " +
			"namespaced: [...], ignore-check: [...]}"}
	}
	s.root, s.editor = pathOf(p.RootURI), set
	s.configure()
	s.initialized = true
	return capabilities(s.Version), nil
}

// notified handles a notification. Unknown ones are ignored, as the protocol demands.
func (s *server) notified(m message) {
	switch m.Method {
	case "textDocument/didOpen":
		var p openParams
		if json.Unmarshal(m.Params, &p) == nil {
			d := &document{uri: p.Document.URI, path: pathOf(p.Document.URI)}
			d.set(p.Document.Version, p.Document.Text)
			s.documents[d.uri] = d
			s.plan(d.uri, 0)
		}
	case "textDocument/didChange":
		var p changeParams
		if json.Unmarshal(m.Params, &p) == nil && s.documents[p.Document.URI] != nil {
			s.documents[p.Document.URI].change(p.Document.Version, p.Changes)
			s.plan(p.Document.URI, debounce)
		}
	case "textDocument/didSave", "workspace/didChangeWatchedFiles": // A CRD or a setting may have changed.
		s.configure()
		for uri := range s.documents {
			s.plan(uri, debounce)
		}
	case "textDocument/didClose":
		var p closeParams
		if json.Unmarshal(m.Params, &p) == nil {
			delete(s.documents, p.Document.URI)
			_ = s.notify("textDocument/publishDiagnostics",
				publishParams{URI: p.Document.URI, Diagnostics: []diagnostic{}}) // The next answer fails, too.
		}
	}
}

// plan judges a file after some time.
func (s *server) plan(uri string, after time.Duration) {
	s.due[uri] = true
	s.timer.Reset(after)
}

// pathOf returns the path of a file, or the whole URI of something else.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	return filepath.FromSlash(cmp.Or(u.Path, uri))
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}
