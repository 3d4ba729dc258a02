package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// Effect is what a Fault does to a request.
type Effect string

// The effects.
const (
	Delay      Effect = "delay"              // the proxy forwards the request after a while
	Reply      Effect = "reply"              // the proxy answers, the API server gets nothing
	ReplyAfter Effect = "reply after commit" // the proxy replaces the API server's answer
	CutBefore  Effect = "cut before commit"  // the connection ends, the API server gets nothing
	CutAfter   Effect = "cut after commit"   // the connection ends instead of an answer
	Blackhole  Effect = "blackhole"          // no answer comes, not even headers
	Late       Effect = "late"               // as Blackhole, but the API server gets the request after a while
)

// Fault describes what happens to some requests.
type Fault struct {
	Effect       Effect `json:"effect"`
	Answer              // of Reply and ReplyAfter
	Milliseconds int    `json:"milliseconds,omitempty"` // of Delay and Late
	Skip         int    `json:"skip,omitempty"`         // the number of matching requests that pass first
	Times        int    `json:"times,omitempty"`        // the number of requests with the fault; 0: until it is lifted
}

// Injected is a Fault at work.
type Injected struct {
	*Trigger
	fault Fault
	match func(Request) bool
}

// Inject applies a fault to the requests that match, until it is lifted. A request has at
// most one fault: the one that was injected first. The end of the fault cuts the requests
// in a Blackhole.
func (p *Proxy) Inject(match func(Request) bool, fault Fault) *Injected {
	in := &Injected{newTrigger(fault.Skip, fault.Times), fault, match}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, in)
	return in
}

// faultOf returns the fault of a request, or nil.
func (p *Proxy) faultOf(request Request) *Injected {
	p.mu.Lock()
	faults := p.faults
	p.mu.Unlock()
	for _, in := range faults {
		if in.active() && in.match(request) && in.strike() {
			return in
		}
	}
	return nil
}

// before applies the fault until the request is forwarded. It reports whether to forward
// the request.
func (in *Injected) before(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	switch in.fault.Effect {
	case Delay:
		in.pause(r.Context())
		return true
	case Reply:
		in.fault.write(w)
		return false
	case CutBefore:
		panic(http.ErrAbortHandler)
	case Blackhole:
		in.wait(r.Context())
		panic(http.ErrAbortHandler)
	case Late:
		in.deliverLate(r, next)
		panic(http.ErrAbortHandler)
	default:
		return true
	}
}

// pause waits for the duration of the fault, or until it is lifted.
func (in *Injected) pause(ctx context.Context) {
	timer := time.NewTimer(time.Duration(in.fault.Milliseconds) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-in.lifted:
	case <-ctx.Done():
	}
}

// deliverLate forwards a request after a while, even if its client has gone.
func (in *Injected) deliverLate(r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // The client went before it had sent the request.
	}
	ctx := context.WithoutCancel(r.Context())
	in.pause(ctx)
	late := r.Clone(ctx)
	late.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(httptest.NewRecorder(), late)
	<-r.Context().Done()
}

var errCut = errors.New("cut")

// after applies the fault to the API server's answer.
func (in *Injected) after(response *http.Response) error {
	switch in.fault.Effect {
	case CutAfter:
		return errCut // The error handler cuts the connection.
	case ReplyAfter:
		recorder := httptest.NewRecorder()
		in.fault.write(recorder)
		_ = response.Body.Close() // Nobody reads it.
		canned := recorder.Result()
		response.StatusCode, response.Status, response.Header = canned.StatusCode, canned.Status, canned.Header
		response.Body, response.ContentLength = canned.Body, canned.ContentLength
	}
	return nil
}
