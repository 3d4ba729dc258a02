//go:build integration

package examples

import (
	"net/http"
	"sync"
	"time"

	"reconcel/test/e2e"
	"reconcel/test/faultproxy"
)

// maxKills limits the kills of one run, so that a run without progress ends, too.
const maxKills = 60

// diesAtEveryWrite runs the example again, and kills the process at each of its writes:
// before the write is forwarded, and after it is committed but unknown to the process.
// Each kill is followed by a restart, so that each process completes at most one write.
// After the creation, each update and the deletion, the state must equal that of a run
// without kills. Nothing may be created twice.
func (w *world) diesAtEveryWrite(references []state) {
	w.Helper()
	w.enter()
	proxy := faultproxy.Start(w.T, w.account.config)
	w.createResources()
	kills := w.killedUntil(proxy, "it to converge", func() error { return w.is(references[0]) })
	w.Logf("created with %d kills", kills)
	for i, u := range w.updates {
		w.update(u)
		kills = w.killedUntil(proxy, "it to converge after "+u.patch, func() error { return w.is(references[i+1]) })
		w.Logf("updated with %d kills", kills)
	}
	w.restsAfterRestart(proxy)
	w.deletePrimaries()
	kills = w.killedUntil(proxy, "nothing to be left", w.nothingLeft)
	w.Logf("deleted with %d kills", kills)
	w.leave()
}

// killedUntil runs the process and kills it before and after each write in turn, until
// nothing is missing.
func (w *world) killedUntil(proxy *faultproxy.Proxy, what string, missing func() error) (kills int) {
	w.Helper()
	w.births = &births{counts: map[string]int{}}
	for ; ; kills++ {
		if kills > maxKills {
			w.Fatalf("waited %d kills for %s: %v", kills, what, missing())
		}
		committed := kills%2 == 1
		if w.killedAt(proxy, 1, committed, what, missing) == nil {
			break
		}
	}
	for object, n := range w.births.counts {
		if n > 1 {
			w.Errorf("waiting for %s, %s was created %d times", what, object, n)
		}
	}
	return kills
}

// births counts the creations of each object.
type births struct {
	mu     sync.Mutex
	counts map[string]int
}

func (b *births) note(write faultproxy.Write) {
	if !write.Committed || write.Code != http.StatusCreated {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[write.String()]++
}

// killedAt runs the process and kills it at its n-th write. It returns that write, or nil
// if nothing was missing before.
func (w *world) killedAt(proxy *faultproxy.Proxy, n int, committed bool, what string, missing func() error) (at *faultproxy.Write) {
	w.Helper()
	reached := make(chan faultproxy.Write, 1)
	dead := make(chan struct{})
	die := sync.OnceFunc(func() { close(dead) })
	defer die()
	proxy.OnWrite(func(write faultproxy.Write) bool {
		if w.births != nil {
			w.births.note(write)
		}
		switch {
		case write.N < n || write.N == n && write.Committed != committed:
			return true
		case write.N == n:
			reached <- write
		}
		<-dead // Later writes must not reach the server either.
		return false
	})
	p := w.start(proxy.Kubeconfig(w.T))
	timeout := time.After(e2e.Patience)
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case write := <-reached:
			p.kill()
			return &write
		case <-timeout:
			w.Fatalf("waited %s for %s: %v", e2e.Patience, what, missing())
		case <-tick.C:
			p.alive()
			if !p.ran() || missing() != nil {
				continue
			}
			w.settled()
			if len(reached) > 0 {
				continue // That write has completed the state.
			}
			proxy.OnWrite(nil)
			w.eventually(what+", and stay so", missing)
			p.end()
			return nil
		}
	}
}

// restsAfterRestart checks that a restarted process writes nothing if everything has
// converged.
func (w *world) restsAfterRestart(proxy *faultproxy.Proxy) {
	w.Helper()
	var written []string
	var mu sync.Mutex
	proxy.OnWrite(func(write faultproxy.Write) bool {
		mu.Lock()
		defer mu.Unlock()
		if write.Committed {
			written = append(written, write.String())
		}
		return true
	})
	p := w.start(proxy.Kubeconfig(w.T))
	p.await()
	select { // Nothing must happen.
	case <-time.After(time.Second):
	case <-w.Context().Done():
	}
	p.end()
	mu.Lock()
	defer mu.Unlock()
	if len(written) > 0 {
		w.Errorf("it wrote after a restart, though nothing had changed: %v", written)
	}
}

// diesOnce kills the process once in each run: for each write of a run without faults,
// once before the write and once after it.
func (w *world) diesOnce(references []state) {
	w.Helper()
	const limit = 12
	for _, committed := range []bool{false, true} {
		for n := 1; n <= limit && !w.Failed(); n++ {
			w.enter()
			proxy := faultproxy.Start(w.T, w.account.config)
			w.createResources()
			as := func() error { return w.is(references[0]) }
			at := w.killedAt(proxy, n, committed, "it to converge", as)
			proxy.OnWrite(nil)
			p := w.start(proxy.Kubeconfig(w.T))
			w.eventually("it to converge after a kill", as)
			w.deletePrimaries()
			w.eventually("nothing to be left", w.nothingLeft)
			p.end()
			w.leave()
			if at == nil {
				break
			}
			w.Logf("killed at write %d, %s, committed: %t", n, at, committed)
		}
	}
}
