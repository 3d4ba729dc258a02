package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// memory is the state of one primary that the caches do not hold: our own
// writes, which the caches may not show yet, and what was already reported.
// All of it can be lost: a restart begins without it.
//
// The queue never hands one request to two workers, so no lock is needed.
type memory struct {
	children     []*written
	byID         map[rules.Identity]*written // index of children; nil while there are few
	deleted      map[types.UID]deletion
	status       writtenStatus
	reads        watch.Reads
	self         *watch.Object            // the response to our last write of the primary, until the cache catches up
	patches      map[string]*writtenPatch // by manager
	finalizers   map[string]*damper       // by rule name
	deselectedAt map[string]time.Time     // when a rule was first seen to deselect the primary, by rule name

	orphaning atomic.Bool // the primary is deleted without its children; set when an event shows it

	seen       sight
	reconciled bool   // reconciled at least once since the start
	kept       string // last reported objects that stay although no rule renders them
	trouble    trouble

	pause        pauseState
	pauseMistake string            // last reported mistake in the pause annotation; "": none
	dirty        bool              // something was written or not ready since the last Synced
	synced       bool              // some generation was ready
	waitingSince time.Time         // zero: not waiting
	syncedAt     int64             // the last generation that was ready
	unsettled    time.Time         // when the status first differed from a state that still changes
	unreported   time.Time         // the same of the annotation that reports the status
	settle       time.Duration     // how long the status is delayed since then
	reapplyAt    time.Time         // when all children are applied again, changed or not
	staleSince   time.Time         // when the cache was first behind; zero: it is not
	gateAt       time.Time         // when the next gate of its rules opens; zero: never
	shares       []share           // of the meters of its rules, in the same order
	reported     map[string]string // last message by reason, of Events that report no trouble
}

// written is our last write of one child, taken from the API server's
// response. It must not be set from a watch, which may show another writer's
// change.
type written struct {
	identity    rules.Identity
	uid         types.UID
	hash        [16]byte // of the rendering that was applied
	fields      managedfields.Entry
	version     string        // resourceVersion of the response
	took        time.Duration // how long the request took, until the status accounts for it
	object      *watch.Object // the response, until the cache catches up
	checked     string        // resourceVersion at which a Secret's data was last compared
	checkedFor  *rules.Child  // with which version of the rule
	schema      checkedSchema
	rejected    *rejectedWrite // the last write; nil: it was accepted
	replacement *rejectedWrite // rejected write of the object that replaces it
	damper      damper
	dispute     *dispute // with other owners of a shared object; nil: they agree
	foreign     bool     // another owner held the name when it was last checked
	seen        bool     // an object of ours was seen under the name
	gone        bool     // a done object that was looked for and does not exist
	replaced    bool     // deleted in order to be created again
	removed     bool     // deleted in a teardown, or left to other owners
}

// existed reports whether the object existed before, and reconcel did not delete it
// in order to create it again.
func (w *written) existed() bool { return (w.uid != "" || w.seen) && !w.replaced }

// writtenStatus is our last write of the primary's status, or a status that
// already had the values we would write.
type writtenStatus struct {
	known    bool
	digest   [16]byte
	fields   managedfields.Entry
	version  string
	schema   checkedSchema
	rejected *rejectedWrite // the last write; nil: it was accepted
	silenced *rejectedWrite // the write that reports the rejected write
	damper   damper
}

// is records that an object has the status with this digest.
func (s *writtenStatus) is(digest [16]byte, o *watch.Object) {
	s.known, s.digest, s.fields, s.version = true, digest, o.Fields(), o.GetResourceVersion()
}

// A deletion is one that we have requested. The cache may not show it yet. It
// may not even show the object yet.
type deletion struct {
	identity rules.Identity
	version  string // resourceVersion at which the object was deleted
}

// few is the number of children up to which a linear search is faster than a
// map.
const few = 16

// child returns the entry of one child and adds it when missing.
func (m *memory) child(id rules.Identity) *written {
	if w := m.find(id); w != nil {
		return w
	}
	w := &written{identity: id}
	m.children = append(m.children, w)
	switch {
	case m.byID != nil:
		m.byID[id] = w
	case len(m.children) > few:
		m.index()
	}
	return w
}

func (m *memory) find(id rules.Identity) *written {
	if m.byID != nil {
		return m.byID[id]
	}
	for _, w := range m.children {
		if w.identity == id {
			return w
		}
	}
	return nil
}

// index rebuilds byID, or drops it when a linear search is fast enough.
func (m *memory) index() {
	m.byID = nil
	if len(m.children) <= few {
		return
	}
	m.byID = make(map[rules.Identity]*written, len(m.children))
	for _, w := range m.children {
		m.byID[w.identity] = w
	}
}

// slowestWrite returns how long the slowest write took since the last call.
func (m *memory) slowestWrite() (slowest time.Duration) {
	for _, w := range m.children {
		slowest = max(slowest, w.took)
		w.took = 0
	}
	return slowest
}

// retain forgets the children for which keep returns false.
func (m *memory) retain(keep func(*written) bool) {
	before := len(m.children)
	m.children = slices.DeleteFunc(m.children, func(w *written) bool { return !keep(w) })
	if len(m.children) < before {
		m.index()
	}
}

// hasDeleted reports whether we have already deleted an object.
func (m *memory) hasDeleted(uid types.UID) bool {
	_, yes := m.deleted[uid]
	return yes
}

func (m *memory) noteDeletion(uid types.UID, d deletion) {
	if m.deleted == nil {
		m.deleted = map[types.UID]deletion{}
	}
	m.deleted[uid] = d
}

// isNews reports whether a message differs from the last one with this reason,
// and records it.
func (m *memory) isNews(reason, message string) bool {
	if m.reported[reason] == message {
		return false
	}
	if m.reported == nil {
		m.reported = map[string]string{}
	}
	m.reported[reason] = message
	return true
}

// newest returns the newer of the cached primary and the response to our own
// last write. A response in another API version than the rules now read is
// ignored.
func (m *memory) newest(cached *watch.Object) *watch.Object {
	if m.self == nil || m.self.GetUID() != cached.GetUID() || m.self.GetAPIVersion() != cached.GetAPIVersion() {
		m.self = nil
		return cached
	}
	// The response to the removal of the last finalizer has the resourceVersion from
	// before the removal.
	ended := m.self.Terminating() && len(m.self.GetFinalizers()) == 0
	if cached.OlderThan(m.self.GetResourceVersion()) || ended {
		return m.self
	}
	m.self = nil
	return cached
}

// leftAt returns when a rule was first seen to deselect the primary.
func (m *memory) leftAt(rule string, now time.Time) time.Time {
	if at, ok := m.deselectedAt[rule]; ok {
		return at
	}
	if m.deselectedAt == nil {
		m.deselectedAt = map[string]time.Time{}
	}
	m.deselectedAt[rule] = now
	return now
}

// A sight is the state of a primary in one reconciliation. The next
// reconciliation compares its own with it.
type sight struct {
	rules      uint64 // which rules its kind had
	version    string // resourceVersion of the primary; "": there was no reconciliation yet
	generation int64
	marks      uint64 // a hash of its labels and annotations
}

var markSeed = maphash.MakeSeed()

// see compares the state with that of the last reconciliation and returns what
// changed. It hashes labels and annotations only if the primary has changed.
func (s *sight) see(rules uint64, self *watch.Object, started time.Time) (why string) {
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
		return whyStarted
	case first:
		return whyCreated
	case changed:
		return whyResource
	case reloaded:
		return whyRules
	}
	return whyDependency
}

// marksOf returns a hash of the labels and annotations of an object.
func marksOf(o *watch.Object) (sum uint64) {
	metadata, _ := o.Content()["metadata"].(map[string]any)
	for _, section := range [...]string{"labels", "annotations"} {
		marks, _ := metadata[section].(map[string]any)
		for key, value := range marks {
			text, _ := value.(string)
			sum += maphash.String(markSeed, section+"\x00"+key+"\x00"+text) // The sum does not depend on the order of the map.
		}
	}
	return sum
}

// memories holds the memory of every primary that the engine reconciles.
type memories struct {
	mu sync.Mutex
	of map[Request]*memory
}

func (ms *memories) get(req Request) *memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m := ms.of[req]
	if m == nil {
		m = &memory{}
		ms.of[req] = m
	}
	return m
}

// has reports whether a primary has a memory.
func (ms *memories) has(req Request) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.of[req] != nil
}

// forgetKinds forgets the primaries of some kinds.
func (ms *memories) forgetKinds(gone func(schema.GroupKind) bool) {
	ms.mu.Lock()
	var all []Request
	for req := range ms.of {
		if gone(req.Kind) {
			all = append(all, req)
		}
	}
	ms.mu.Unlock()
	for _, req := range all {
		ms.forget(req)
	}
}

// forget removes the memory of a primary that is gone, its shares in the
// meters and its registered reads.
func (ms *memories) forget(req Request) {
	ms.mu.Lock()
	m := ms.of[req]
	delete(ms.of, req)
	ms.mu.Unlock()
	if m != nil {
		m.withdraw(0)
		m.reads.End()
	}
}
