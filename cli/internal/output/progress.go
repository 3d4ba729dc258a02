package output

import (
	"fmt"
	"io"
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
