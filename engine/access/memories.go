package access

import (
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/decide"
	"reconcel/engine/ident"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
)

// Memories holds the memory of every primary that the engine reconciles.
type Memories struct {
	mu sync.Mutex
	Of map[ident.Request]*Memory
}

// Get returns the memory of a primary, and creates it if necessary.
func (ms *Memories) Get(req ident.Request) *Memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.Of[req]
	if m == nil {
		m = &Memory{}
		ms.Of[req] = m
	}
	return m
}

// Has reports whether a primary has a memory.
func (ms *Memories) Has(req ident.Request) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.Of[req] != nil
}

// ForgetKinds forgets the primaries of some kinds.
func (ms *Memories) ForgetKinds(gone func(schema.GroupKind) bool) {
	ms.mu.Lock()
	var all []ident.Request
	for req := range ms.Of {
		if gone(req.Kind) {
			all = append(all, req)
		}
	}
	ms.mu.Unlock()
	for _, req := range all {
		ms.Forget(req)
	}
}

// Forget removes the memory of a primary that is gone, its shares in the
// meters and its registered reads.
func (ms *Memories) Forget(req ident.Request) {
	ms.mu.Lock()
	m := ms.Of[req]
	delete(ms.Of, req)
	ms.mu.Unlock()
	if m != nil {
		m.Withdraw(0)
		m.Reads.End()
	}
}

// Lose forgets a primary that no cache shows now. It may exist still, so that it is being deleted without its children
// stays known: only an event told that.
func (ms *Memories) Lose(req ident.Request) {
	ms.mu.Lock()
	m := ms.Of[req]
	ms.mu.Unlock()
	ms.Forget(req)
	if m != nil && m.Orphaning.Load() {
		ms.Get(req).Orphaning.Store(true)
	}
}

// A sight is the state of a primary in one reconciliation. The next
// reconciliation compares its own with it.
type sight struct {
	rules      uint64 // which rules its kind had
	version    string // resourceVersion of the primary; "": there was no reconciliation yet
	generation int64
	marks      uint64 // a hash of its labels and annotations
}

// See compares the state with that of the last reconciliation and returns what
// changed. It hashes labels and annotations only if the primary has changed.
func (s *sight) See(rules uint64, self *watch.Object, started time.Time) (why string) {
	first, reloaded := s.version == "", s.rules != rules
	s.rules = rules
	changed := false
	if version := self.GetResourceVersion(); version != s.version {
		generation, marks := self.GetGeneration(), marksOf(self)
		changed = generation == 0 || generation != s.generation || marks != s.marks
		s.version, s.generation, s.marks = version, generation, marks
	}
	switch {
	case first && self.GetCreationTimestamp().Time.Before(started.Truncate(time.Second)):
		return decide.WhyStarted
	case first:
		return decide.WhyCreated
	case changed:
		return decide.WhyResource
	case reloaded:
		return decide.WhyRules
	}
	return decide.WhyDependency
}

// marksOf returns a hash of the labels and annotations of an object.
func marksOf(o *watch.Object) (sum uint64) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	for _, section := range [...]string{"labels", "annotations"} {
		marks, _ := metadata[section].(map[string]any)
		for key, value := range marks {
			text, _ := value.(string)
			// The sum does not depend on the order of the map.
			sum += maphash.String(plan.MarkSeed, section+"\x00"+key+"\x00"+text)
		}
	}
	return sum
}
