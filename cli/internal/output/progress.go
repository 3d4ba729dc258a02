package output

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A Progress is a line about long work. It is shown on a terminal only.
type Progress struct {
	Total       atomic.Int64 // number of steps; 0: not known yet
	done        atomic.Int64
	stop, ended chan struct{}
}

const (
	progressAfter = 2 * time.Second
	progressEvery = 200 * time.Millisecond
)

// StartProgress shows the progress of some work until Stop.
func StartProgress(w io.Writer) *Progress {
	p := &Progress{stop: make(chan struct{}), ended: make(chan struct{})}
	if !isTerminal(w) {
		close(p.ended)
		return p
	}
	go p.show(w)
	return p
}

// Step counts a step.
func (p *Progress) Step() { p.done.Add(1) }

// Stop clears the line.
func (p *Progress) Stop() {
	close(p.stop)
	<-p.ended
}

func (p *Progress) show(w io.Writer) {
	defer close(p.ended)
	next := time.NewTimer(progressAfter)
	defer next.Stop()
	for shown := false; ; shown = true {
		select {
		case <-p.stop:
			if shown {
				fmt.Fprint(w, clearLine)
			}
			return
		case <-next.C:
			text := "reading the cluster"
			if total := p.Total.Load(); total > 0 {
				text = fmt.Sprintf("compared %d of %d resources", p.done.Load(), total)
			}
			fmt.Fprint(w, clearLine+text)
			next.Reset(progressEvery)
		}
	}
}

// A Damper finds repeated lines, so that they are not printed again. It forgets all
// lines when there are many, so that lines with names in them cannot fill the
// memory. It is safe for concurrent use.
type Damper struct {
	Every time.Duration // after which a line may be repeated; 0: never
	mu    sync.Mutex
	last  map[string]time.Time
}

// IsDue records a line, and reports whether to print it now.
func (d *Damper) IsDue(line string, now time.Time) bool {
	const many = 1000
	d.mu.Lock()
	defer d.mu.Unlock()
	if last, known := d.last[line]; known && (d.Every == 0 || now.Sub(last) < d.Every) {
		return false
	}
	if len(d.last) >= many || d.last == nil {
		d.last = map[string]time.Time{}
	}
	d.last[line] = now
	return true
}
