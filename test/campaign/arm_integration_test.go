//go:build integration

package campaign

import (
	"bytes"
	"strings"
	"time"

	"reconcel/test/faultproxy"
)

// matches returns the requests of a subject.
func (r *faultRun) matches(on subject) func(faultproxy.Request) bool {
	mine := func(q faultproxy.Request) bool {
		return strings.Contains(q.Path, r.namespace) || r.plan.alone() && strings.Contains(q.Path, r.control.name)
	}
	return func(q faultproxy.Request) bool {
		switch on {
		case onReads:
			return q.Method == "GET" && q.Name != "" && mine(q) && q.Resource != "leases"
		case onLists:
			return q.Method == "GET" && q.Resource != "" && q.Name == "" && !q.Watch
		case onWatches:
			return q.Watch
		case onDiscovery:
			return q.Method == "GET" && q.Resource == ""
		default:
			return q.IsWrite() && mine(q)
		}
	}
}

// sees reports whether an event of a watch shows an object of the run.
func (r *faultRun) sees(f faultproxy.Frame) bool {
	return f.Type != "BOOKMARK" && bytes.Contains(f.Line, []byte(r.namespace))
}

// arm injects the faults of the plan.
func (r *faultRun) arm() {
	p := r.plan
	if p.Fault != nil {
		injected := r.control.proxy.Inject(r.matches(p.On), *p.Fault)
		if r.injected = injected; p.Seconds > 0 {
			r.thaw, r.thawAt = injected.Lift, time.Now().Add(time.Duration(p.Seconds)*time.Second)
		}
	}
	if p.Frames != nil {
		r.injected = r.control.proxy.InjectFrames(func(f faultproxy.Frame) bool {
			return f.Resource == p.Frames.Resource && r.sees(f)
		}, p.Frames.FrameFault)
	}
	if p.Lag != nil {
		late := func(q faultproxy.Request) bool { return q.Resource == p.Lag.Resource }
		r.control.proxy.DelayWatch(late, time.Duration(p.Lag.Milliseconds)*time.Millisecond)
	}
	position, committed := 0, false
	switch {
	case p.Crash != nil:
		position, committed = p.Crash.Position, p.Crash.Committed
	case p.Stale != nil:
		position = p.Stale.Position
	default:
		return
	}
	r.due, r.dead = make(chan struct{}), make(chan struct{})
	r.Cleanup(func() {
		if r.crashed.IsZero() {
			close(r.dead) // The proxy waits for the writes that it holds.
		}
	})
	r.control.proxy.OnWrite(func(w faultproxy.Write) bool {
		switch {
		case w.N < position, w.N == position && w.Committed != committed:
			return r.control.note(w)
		case w.N == position:
			if w.Committed {
				r.control.note(w)
			}
			close(r.due)
		}
		<-r.dead // Later writes must not reach the server either.
		return false
	})
}

// tick crashes the process when that is due, and ends the lag of the API server.
func (r *faultRun) tick() {
	r.Helper()
	if r.thaw != nil && time.Now().After(r.thawAt) {
		r.thaw()
		r.thaw = nil
	}
	if r.due == nil || !r.crashed.IsZero() {
		return
	}
	select {
	case <-r.due:
	default:
		return
	}
	r.crashed = time.Now()
	way := again
	if p := r.plan.Stale; p != nil {
		lags := func(q faultproxy.Request) bool { return p.Resource == "" || p.Resource == q.Resource }
		r.thaw = r.control.proxy.Freeze(r.ends[min(p.Step, len(r.ends)-1)], p.WatchList, lags)
		r.thawAt = time.Now().Add(time.Duration(p.Seconds) * time.Second)
	} else {
		way = r.plan.Crash.Restart
	}
	r.control.process.Kill()
	r.control.proxy.OnWrite(r.control.note)
	close(r.dead)
	r.control.replace(way)
}

// hide lets discovery lack a group for a while.
func (r *faultRun) hide() {
	a := r.plan.Absence
	r.thaw = r.control.proxy.HideGroup(r.placeholders.Replace(a.Group), a.How)
	r.thawAt = time.Now().Add(time.Duration(a.Seconds) * time.Second)
}
