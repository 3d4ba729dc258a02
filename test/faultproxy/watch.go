package faultproxy

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

type delay struct {
	match func(Request) bool
	by    time.Duration
}

// DelayWatch delays the events of the watches that match, in their order, until lift is
// called. It applies to open watches and to the start of new ones.
func (p *Proxy) DelayWatch(match func(Request) bool, by time.Duration) (lift func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := len(p.delays)
	p.delays = append(p.delays, delay{match, by})
	p.delaysChangedLocked()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.delays[i].by = 0
		p.delaysChangedLocked()
	}
}

// ShortenWatches makes the API server end new watches after some seconds, instead of
// the time that the client asks for.
func (p *Proxy) ShortenWatches(seconds int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seconds = seconds
}

// shorten replaces the time after which a watch ends.
func (p *Proxy) shorten(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seconds > 0 {
		query := r.URL.Query()
		query.Set("timeoutSeconds", strconv.Itoa(p.seconds))
		r.URL.RawQuery = query.Encode()
	}
}

func (p *Proxy) delaysChangedLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// delayOf returns the current delay of a watch, and a channel that closes when the delay
// changes.
func (p *Proxy) delayOf(request Request) (by time.Duration, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.delays {
		if d.match(request) {
			by = max(by, d.by)
		}
	}
	return by, p.changed
}

// frame is one event of a watch, which is one line.
type frame struct {
	line []byte
	came time.Time
}

// filtered returns the body of a watch, with its delays and faults.
func (p *Proxy) filtered(ctx context.Context, it *exchange, body io.ReadCloser) io.ReadCloser {
	// The goroutine reads frames as they arrive, even if the reader is slow: delays must
	// not add up.
	frames := make(chan frame, 1<<12)
	go func() {
		defer close(frames)
		for lines := bufio.NewReader(body); ; {
			line, err := lines.ReadBytes('\n')
			select {
			case frames <- frame{line, time.Now()}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return // The end of a watch is delayed, too.
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		for f := range frames {
			if !p.hold(ctx, it.request, f.came) || !p.catchUp(ctx, it, f.line) {
				break
			}
			line, ends := f.line, false
			if in := p.frameFaultOf(it.request, line); in != nil {
				if line, ends = in.spoil(line); in.fault.Effect == Silence {
					in.wait(ctx)
				}
			}
			if _, err := writer.Write(line); err != nil {
				break // The controller has closed the watch.
			}
			if ends {
				_ = writer.CloseWithError(errCut) // It returns no error.
				return
			}
		}
		_ = writer.Close() // It returns no error.
	}()
	return struct {
		io.Reader
		io.Closer
	}{reader, closers{reader, body}}
}

// catchUp waits until a lagging API server would send a frame, and reports whether the
// reader still wants it. Initial events are current.
func (p *Proxy) catchUp(ctx context.Context, it *exchange, line []byte) bool {
	v := p.frozenView()
	if it.initial {
		it.initial = !endsInitialEvents(line)
		return true
	}
	if v == nil || !v.match(it.request) || v.shows(line) {
		return true
	}
	select {
	case <-v.lifted:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold waits until a frame is due, and reports whether the reader still wants it.
func (p *Proxy) hold(ctx context.Context, request Request, came time.Time) bool {
	for {
		by, changed := p.delayOf(request)
		timer := time.NewTimer(time.Until(came.Add(by)))
		select {
		case <-timer.C:
			return ctx.Err() == nil
		case <-changed: // The frame may be due now.
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

type closers []io.Closer

// Close implements io.Closer.
func (c closers) Close() error {
	for _, one := range c {
		_ = one.Close() // There is no way to handle this error.
	}
	return nil
}
