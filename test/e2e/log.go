package e2e

import (
	"bytes"
	"strings"
	"sync"
)

// Log is a log that goroutines write while the test reads it.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what has been logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often a text occurs in the log.
func (l *Log) Count(text string) int { return strings.Count(l.String(), text) }
