package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress shows the progress of a long job. On a terminal, it rewrites one line
// every second. Elsewhere, it prints a line every 15 seconds, so that a log stays
// short and shows that the job is alive.
type progress struct {
	out      io.Writer
	terminal bool
	start    time.Time

	mu   sync.Mutex
	text string

	stop chan struct{}
	done chan struct{}
}

func startProgress(out *os.File, text string) *progress {
	p := &progress{
		out: out, terminal: isTerminal(out), start: time.Now(), text: text,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go p.run()
	return p
}

// isTerminal is precise enough to choose a layout. It takes /dev/null for a
// terminal, which does no harm.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) run() {
	defer close(p.done)
	every := 15 * time.Second
	if p.terminal {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	if p.terminal {
		p.show()
	}
	for {
		select {
		case <-ticker.C:
			p.show()
		case <-p.stop:
			return
		}
	}
}

func (p *progress) show() {
	line := p.line()
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%s, %.0f s", p.text, time.Since(p.start).Seconds())
}

// set changes the text.
func (p *progress) set(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = fmt.Sprintf(format, args...)
}

// finish stops the display and prints a last line.
func (p *progress) finish(format string, args ...any) {
	close(p.stop)
	<-p.done
	p.set(format, args...)
	p.show()
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
