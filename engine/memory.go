package engine

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// memory is what a process knows of one primary beyond the caches: its own
// writes, which the caches may not show yet, and what it has told people. All
// of it can be lost: a restart begins with none.
//
// A request is never served by two workers at once, so no lock is needed.
type memory struct {
	children []*written
	status   writtenStatus

	dirty        bool              // something was written, or was not ready, since the last Synced
	synced       bool              // some generation has been ready
	waitingSince time.Time         // zero: it is not waiting
	syncedAt     int64             // the last generation that was
	unsettled    time.Time         // when the status first differed from a state that is still moving
	reapplyAt    time.Time         // when everything is applied again, changed or not
	told         map[string]string // last Event message by reason, of the trouble that is not over
}

// written is our last write of one child, taken from the API server's
// response. A watch must not feed it: it may show somebody else's write.
type written struct {
	identity rules.Identity
	uid      types.UID
	fields   fields
	version  string  // resourceVersion of the response
	object   *object // the response, until the cache has caught up with it
	checked  string  // resourceVersion at which a Secret's data was last compared
	foreign  bool    // the name was last seen held by somebody else
	refusal  refusal // of the last write, unless it was accepted
	contest  contest
}

// writtenStatus is our last write of the primary's status, or what was found
// to be as we would write it.
type writtenStatus struct {
	known   bool
	digest  [16]byte
	fields  fields
	version string
}

// child returns what is remembered of one child; it is added when missing.
func (m *memory) child(id rules.Identity) *written {
	for _, w := range m.children {
		if w.identity == id {
			return w
		}
	}
	w := &written{identity: id}
	m.children = append(m.children, w)
	return w
}

// retain forgets the children that keep does not want.
func (m *memory) retain(keep func(rules.Identity) bool) {
	m.children = slices.DeleteFunc(m.children, func(w *written) bool { return !keep(w.identity) })
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

func (ms *memories) forget(req Request) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.of, req)
}
