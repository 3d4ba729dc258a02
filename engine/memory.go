package engine

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// memory is what a process knows of one primary beyond the caches: its own
// writes, which the caches may not show yet, and what it has told people. All
// of it can be lost: a restart begins with none.
//
// A request is never served by two workers at once, so no lock is needed.
type memory struct {
	children []*written
	byID     map[rules.Identity]*written // of children, where they are many
	deleted  map[types.UID]deletion
	status   writtenStatus
	reads    watch.Reads
	self     *watch.Object            // the primary after our last write of its metadata or status, until the cache has caught up
	patches  map[string]*writtenPatch // by rule
	left     map[string]time.Time     // when a rule was first seen to leave the primary, by its name

	seen    sight
	looked  bool   // it was looked at since the start
	kept    string // the objects that stay though no rule renders them, as people were told
	trouble trouble

	pause        pauseState
	pauseMistake string            // what people were told of a pause that has no effect; "": nothing is wrong
	dirty        bool              // something was written, or was not ready, since the last Synced
	synced       bool              // some generation has been ready
	waitingSince time.Time         // zero: it is not waiting
	syncedAt     int64             // the last generation that was
	unsettled    time.Time         // when the status first differed from a state that is still moving
	reapplyAt    time.Time         // when everything is applied again, changed or not
	shares       []share           // in the meters of its rules, in their order
	told         map[string]string // last Event message by reason, of what is no trouble
}

// written is our last write of one child, taken from the API server's
// response. A watch must not feed it: it may show somebody else's write.
type written struct {
	identity     rules.Identity
	uid          types.UID
	hash         [16]byte // of the rendering that was applied
	fields       managedfields.Entry
	version      string         // resourceVersion of the response
	object       *watch.Object  // the response, until the cache has caught up with it
	checked      string         // resourceVersion at which a Secret's data was last compared
	foreign      bool           // the name was last seen held by somebody else
	rejected     *rejectedWrite // the last write; nil: it was accepted
	replacement  *rejectedWrite // what is to stand in its place
	conflictLoop *conflictLoop  // nil: it never had to be restored
	churn        churn
	replaced     bool // it was deleted to be created again
}

// writtenStatus is our last write of the primary's status, or what was found
// to be as we would write it.
type writtenStatus struct {
	known        bool
	digest       [16]byte
	fields       managedfields.Entry
	version      string
	rejected     *rejectedWrite // the last write; nil: it was accepted
	silenced     *rejectedWrite // the one that says so
	conflictLoop *conflictLoop  // nil: it never had to be restored
}

// is notes that an object has the status of a digest.
func (s *writtenStatus) is(digest [16]byte, o *watch.Object) {
	s.known, s.digest, s.fields, s.version = true, digest, o.Fields(), o.GetResourceVersion()
}

// A deletion is one that we have asked for. The cache may not show it yet, nor
// even that there was such an object.
type deletion struct {
	identity rules.Identity
	version  string // resourceVersion at which the object was deleted
}

// few is how many children are found sooner one by one than by a map.
const few = 16

// child returns what is remembered of one child; it is added when missing.
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

// index builds byID if that is worth it.
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

// retain forgets the children that keep does not want.
func (m *memory) retain(keep func(*written) bool) {
	before := len(m.children)
	m.children = slices.DeleteFunc(m.children, func(w *written) bool { return !keep(w) })
	if len(m.children) < before {
		m.index()
	}
}

// forgetDeletions drops the deletions that the caches show.
func (m *memory) forgetDeletions(shown func(types.UID, deletion) bool) {
	maps.DeleteFunc(m.deleted, shown)
}

// hasDeleted reports whether we have deleted an object already.
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

// tell reports whether a message is news: the last one under this reason, if
// any, was another.
func (m *memory) tell(reason, message string) bool {
	if m.told[reason] == message {
		return false
	}
	if m.told == nil {
		m.told = map[string]string{}
	}
	m.told[reason] = message
	return true
}

// newest returns the later of the cached primary and the response to our own
// last write, if that is in the version that rules now read.
func (m *memory) newest(cached *watch.Object) *watch.Object {
	if m.self == nil || m.self.GetUID() != cached.GetUID() || m.self.GetAPIVersion() != cached.GetAPIVersion() || !cached.OlderThan(m.self.GetResourceVersion()) {
		m.self = nil
		return cached
	}
	return m.self
}

// leftAt returns when a rule was first seen to leave the primary.
func (m *memory) leftAt(rule string, now time.Time) time.Time {
	if at, ok := m.left[rule]; ok {
		return at
	}
	if m.left == nil {
		m.left = map[string]time.Time{}
	}
	m.left[rule] = now
	return now
}

// A sight is what a pass saw, to be compared with what the next one sees.
type sight struct {
	program    *rules.Program // nil: there was no pass yet
	version    string         // resourceVersion of the primary
	generation int64
	marks      uint64 // a hash of its labels and annotations
}

var markSeed = maphash.MakeSeed()

// see compares what there is with what the last pass saw, and returns what has
// changed. Labels and annotations are looked at only if the primary has changed.
func (s *sight) see(program *rules.Program, self *watch.Object, started time.Time) (why string) {
	first, reloaded := s.program == nil, s.program != program
	s.program = program
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
	case reloaded:
		return whyRules
	case changed:
		return whyResource
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
			sum += maphash.String(markSeed, section+"\x00"+key+"\x00"+text) // In any order.
		}
	}
	return sum
}

// memories holds the memory of every primary that is being looked after.
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

// forgetKinds ends what is remembered of the primaries of some kinds.
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

// forget ends what is remembered of a primary that is gone, and its interests.
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
