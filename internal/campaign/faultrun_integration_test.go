//go:build integration

package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/internal/e2e"
	"reconcel/internal/faultproxy"
	"reconcel/internal/oracle"
)

const (
	// runPatience is when a run that should have recovered is given up.
	runPatience = 40 * time.Second
	// restFor is how long nothing may be written at the end.
	restFor = time.Second
)

// maxRecovery is how much longer than its reference a run may take after the last fault.
// An answer that says that a request is wrong, or forbidden, is retried after the time
// that the documentation names.
func (p plan) maxRecovery() time.Duration {
	const common = 5 * time.Second
	if p.Lag != nil {
		// Each step of a reaction waits for its events.
		return common + 5*time.Duration(p.Lag.Milliseconds)*time.Millisecond
	}
	if p.Frames != nil && p.Frames.Effect == faultproxy.Silence || p.Fault != nil && p.Fault.Effect == faultproxy.Blackhole {
		return common + time.Minute // A watch that is silent for so long is renewed.
	}
	if p.Fault == nil {
		return common
	}
	switch p.Fault.Code {
	case http.StatusForbidden:
		return common + 36*time.Second
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return common + 144*time.Second
	default:
		return common
	}
}

// faultRun is a plan at work.
type faultRun struct {
	*testing.T
	stage *stage
	world *e2e.World
	workload
	plan plan

	namespace    string
	placeholders *strings.Replacer
	control      *controller
	seen         *oracle.Selection
	ends         []uint64 // the version at the end of each step

	injected interface{ Hits() (int, time.Time) }
	due      chan struct{} // closed when the process must crash
	dead     chan struct{} // closed when it has crashed
	crashed  time.Time
	thaw     func() // nil unless the API server lags
	thawAt   time.Time
}

// newFaultRun prepares a run: a process, a namespace, and the objects that exist before.
func (s *stage) newFaultRun(t *testing.T, w workload, p plan, mode alone) *faultRun {
	t.Helper()
	r := &faultRun{T: t, stage: s, world: s.world.Within(t), workload: w, plan: p}
	if w.reloads() {
		mode = separate
	}
	prefix := "faults-"
	if mode == sharing {
		prefix = "faults-" + w.name + "-"
	}
	r.namespace = r.world.CreateNamespace(prefix)
	rule, namespaces := r.namespace, r.namespace
	if mode == sharing {
		rule, namespaces = "shared-"+w.name, `"`+prefix+`*"`
	}
	r.placeholders = strings.NewReplacer("NAMESPACES", namespaces, "NAMESPACE", r.namespace, "RULE", rule)
	names := oracle.NewNames(w.Generated, rule, "RULE", r.namespace, "NAMESPACE")
	if rule == r.namespace {
		names = oracle.NewNames(w.Generated, "reconcel.dev/"+rule, "reconcel.dev/RULE", `"`+rule, `"RULE`, r.namespace, "NAMESPACE")
	}
	r.seen = s.history.Select(names, func(k oracle.Key) bool {
		return strings.Contains(k.Namespace+"/"+k.Name, r.namespace) && k.Name != "kube-root-ca.crt" && k.Namespace != "default"
	})
	for _, object := range w.Setup {
		r.create(object)
	}
	for _, object := range w.Foreign {
		r.create(object)
	}
	if mode == sharing {
		r.control = s.sharedController(w, r.placeholders.Replace(w.Rules))
	} else {
		way := again
		if p.Crash != nil {
			way = p.Crash.Restart
		}
		r.control = s.newController(t, r.namespace, r.placeholders.Replace(w.Rules), way)
	}
	return r
}

// alone says whether a run has a process of its own.
type alone string

// The modes.
const (
	separate alone = "separate"
	sharing  alone = "sharing"
)

// sharedController returns the process of a workload that several runs share.
func (s *stage) sharedController(w workload, rules string) *controller {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.shared[w.name]
	if c == nil {
		c = s.newController(s.T, "shared-"+w.name, rules, again)
		s.shared[w.name] = c
	}
	return c
}

// do performs a step.
func (r *faultRun) do(s step) {
	r.Helper()
	switch {
	case s.Apply != nil:
		r.create(s.Apply)
	case s.Patch != nil:
		body, err := json.Marshal(r.fill(s.Patch.Merge))
		if err != nil {
			r.Fatal(err)
		}
		patched, err := r.world.ResourceIn(r.of(s.Patch)).Patch(r.Context(), s.Patch.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: e2e.FieldManager})
		if err != nil {
			r.Fatalf("patch %s %s: %v", s.Patch.Kind, s.Patch.Name, err)
		}
		r.awaitVersion(patched)
	case s.Delete != nil:
		client := r.world.ResourceIn(r.of(s.Delete))
		live, err := client.Get(r.Context(), s.Delete.Name, metav1.GetOptions{})
		if err != nil {
			r.Fatal(err)
		}
		background := metav1.DeletePropagationBackground
		if err := client.Delete(r.Context(), s.Delete.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			r.Fatalf("delete %s %s: %v", s.Delete.Kind, s.Delete.Name, err)
		}
		r.awaitDeletion(live)
	default:
		r.control.place(r.placeholders.Replace(s.Rules))
	}
}

func (r *faultRun) of(t *target) (kind schema.GroupVersionKind, namespace string) {
	kind, ok := faultKinds[t.Kind]
	if !ok {
		r.Fatalf("unknown kind %s", t.Kind)
	}
	if t.Namespace == "" {
		return kind, r.namespace
	}
	return kind, r.placeholders.Replace(t.Namespace)
}

// keyOf returns the key of an object.
func keyOf(u *unstructured.Unstructured) oracle.Key {
	return oracle.Key{Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// awaitVersion waits until the observer has seen a version of an object.
func (r *faultRun) awaitVersion(u *unstructured.Unstructured) {
	r.Helper()
	if _, observed := faultKinds[u.GetKind()]; !observed {
		return
	}
	e2e.Poll(r.T, "the observer to see "+u.GetName(), time.Minute, 20*time.Millisecond, func() error {
		if !r.seen.Saw(keyOf(u), u.GetResourceVersion()) {
			return fmt.Errorf("version %s has not come", u.GetResourceVersion())
		}
		return nil
	})
}

// awaitDeletion waits until the observer has seen the deletion of an object, or its begin.
func (r *faultRun) awaitDeletion(u *unstructured.Unstructured) {
	r.Helper()
	e2e.Poll(r.T, "the observer to see the deletion of "+u.GetName(), time.Minute, 20*time.Millisecond, func() error {
		if now := r.seen.Live(keyOf(u)); now != nil && now.GetUID() == u.GetUID() && now.GetDeletionTimestamp() == nil {
			return fmt.Errorf("version %s exists", now.GetResourceVersion())
		}
		return nil
	})
}

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

// arm injects the faults of the plan.
func (r *faultRun) arm() {
	p := r.plan
	if p.Fault != nil {
		r.injected = r.control.proxy.Inject(r.matches(p.On), *p.Fault)
	}
	if p.Frames != nil {
		r.injected = r.control.proxy.InjectFrames(func(f faultproxy.Frame) bool {
			return f.Resource == p.Frames.Resource && f.Type != "BOOKMARK" && bytes.Contains(f.Line, []byte(r.namespace))
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
		r.thaw, r.thawAt = r.control.proxy.Freeze(r.ends[min(p.Step, len(r.ends)-1)], p.WatchList), time.Now().Add(time.Duration(p.Seconds)*time.Second)
	} else {
		way = r.plan.Crash.Restart
	}
	r.control.process.Kill()
	r.control.proxy.OnWrite(r.control.note)
	close(r.dead)
	r.control.replace(way)
}

// lastFault returns the time after which the run must recover.
func (r *faultRun) lastFault() (last time.Time) {
	if r.injected != nil {
		_, last = r.injected.Hits()
	}
	for _, other := range []time.Time{r.crashed, r.thawAt} {
		if other.After(last) {
			last = other
		}
	}
	return last
}

// errSlow is the error of a run that recovers later than it should.
var errSlow = errors.New("slow")

// converges waits until the state is that of the reference, and returns an error if it
// comes too late or never.
func (r *faultRun) converges(i int, want reference) error {
	r.Helper()
	began, running := time.Now(), time.Time{}
	seen := -1
	var state map[string][]string
	for {
		r.tick()
		if r.control.process.Ended() {
			return fmt.Errorf("step %d: the process ended by itself", i)
		}
		if !r.crashed.IsZero() && running.IsZero() && r.control.process.Logged("msg=running") {
			running = time.Now()
		}
		if last := r.seen.Last(); last != seen {
			seen, state = last, r.seen.State()
		}
		after := began
		for _, t := range []time.Time{r.lastFault(), running} {
			if t.After(after) {
				after = t
			}
		}
		took := time.Since(after)
		if r.thaw == nil && reflect.DeepEqual(state, want.after[i]) {
			if took > want.took[i]+r.plan.maxRecovery() {
				return fmt.Errorf("%w: step %d: it recovered %s after the last fault, and %s after the step began; the reference took %s",
					errSlow, i, took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), want.took[i].Round(time.Millisecond))
			}
			return nil
		}
		if took > want.took[i]+r.plan.maxRecovery()+runPatience {
			return fmt.Errorf("step %d: it did not recover within %s (-reference +run):\n%s", i, took.Round(time.Second), cmp.Diff(want.after[i], state))
		}
		e2e.Rest(r.T, 20*time.Millisecond)
	}
}

// version returns the last resourceVersion of the run's objects.
func (r *faultRun) version() (last uint64) {
	for _, text := range r.seen.Versions() {
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			last = max(last, v)
		}
	}
	return last
}
