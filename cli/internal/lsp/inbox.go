package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

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
