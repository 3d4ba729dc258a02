package access

import (
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/plan"
	"reconcel/engine/watch"
	"reconcel/rules"
)

// Few is the number of children up to which a linear search is faster than a
// map.
const Few = 16

// Memory is the state of one primary that the caches do not hold: our own
// writes, which the caches may not show yet, and what was already reported.
// All of it can be lost: a restart begins without it.
//
// The queue never hands one request to two workers, so no lock is needed.
type Memory struct {
	Children     []*Written
	byID         map[rules.Identity]*Written // index of children; nil while there are few
	Deleted      map[types.UID]Deletion
	Undeleted    map[types.UID]*rejectedWrite // deletions that failed
	Status       WrittenStatus
	Reads        watch.Reads
	Bundle       *watch.Object            // the ConfigMap of a bundle as last seen; it may be deleted
	Self         *watch.Object            // the response to our last write of the primary, until the cache catches up
	patches      map[string]*WrittenPatch // by manager
	marks        map[string]*Mark         // by finalizer or annotation
	DeselectedAt map[string]time.Time     // when a rule was first seen to deselect the primary, by rule name

	Orphaning atomic.Bool // the primary is deleted without its children; set when an event shows it

	Seen       sight
	Reconciled bool          // reconciled at least once since the start
	Requested  string        // the last request to reconcile now that this process has answered, see rules.RequestOf
	Requests   decide.Damper // counts them
	Kept       string        // last reported objects that stay although no rule renders them
	Trouble    Trouble
	Wordings   Wordings

	Pause        plan.PauseState
	PauseMistake string            // last reported mistake in the pause annotation; "": none
	Dirty        bool              // something was written or not ready since the last Synced
	Synced       bool              // some generation was ready
	WaitingSince time.Time         // zero: not waiting
	SyncedAt     int64             // the last generation that was ready
	Unsettled    time.Time         // when the status first differed from a state that still changes
	Unreported   time.Time         // the same of the annotation that reports the status
	Settle       time.Duration     // how long the status is delayed since then
	ReapplyAt    time.Time         // when all children are applied again, changed or not
	StaleSince   time.Time         // when the cache was first behind; zero: it is not
	GateAt       time.Time         // when the next gate of its rules opens; zero: never
	shares       []plan.Share      // of the meters of its rules, in the same order
	Reported     map[string]string // last message by reason, of Events that report no trouble
}

// ForgetWrites forgets the answers of a dry run.
func (m *Memory) ForgetWrites() {
	m.Children, m.byID, m.Deleted, m.Status, m.Self, m.patches, m.marks = nil, nil, nil, WrittenStatus{}, nil, nil, nil
}

// A Mark is a finalizer or an annotation that a rule keeps on the primary. Its damper delays the edits.
type Mark struct {
	decide.Damper
	Rejected *rejectedWrite // the last edit of a finalizer; nil: it was accepted
	Written  bool           // the annotation was written or removed by this process, and Text is what it then was
	Text     string         // "": removed
}

// Unmark forgets a finalizer or annotation that the rule keeps no more.
func (m *Memory) Unmark(name string) { delete(m.marks, name) }

// Mark returns the entry of a finalizer or annotation, and adds it when missing.
func (m *Memory) Mark(name string) *Mark {
	mark := m.marks[name]
	if mark == nil {
		mark = &Mark{}
		if m.marks == nil {
			m.marks = map[string]*Mark{}
		}
		m.marks[name] = mark
	}
	return mark
}

// Child returns the entry of one child and adds it when missing.
func (m *Memory) Child(id rules.Identity) *Written {
	if w := m.Find(id); w != nil {
		return w
	}
	w := &Written{Identity: id}
	m.Children = append(m.Children, w)
	switch {
	case m.byID != nil:
		m.byID[id] = w
	case len(m.Children) > Few:
		m.index()
	}
	return w
}

// Find returns our last write of a child, or nil.
func (m *Memory) Find(id rules.Identity) *Written {
	if m.byID != nil {
		return m.byID[id]
	}
	for _, w := range m.Children {
		if w.Identity == id {
			return w
		}
	}
	return nil
}

// index rebuilds byID, or drops it when a linear search is fast enough.
func (m *Memory) index() {
	m.byID = nil
	if len(m.Children) <= Few {
		return
	}
	m.byID = make(map[rules.Identity]*Written, len(m.Children))
	for _, w := range m.Children {
		m.byID[w.Identity] = w
	}
}

// SlowestWrite returns how long the slowest write took since the last call.
func (m *Memory) SlowestWrite() (slowest time.Duration) {
	for _, w := range m.Children {
		slowest = max(slowest, w.Took)
		w.Took = 0
	}
	return slowest
}

// Retain forgets the children for which keep returns false.
func (m *Memory) Retain(keep func(*Written) bool) {
	before := len(m.Children)
	m.Children = slices.DeleteFunc(m.Children, func(w *Written) bool { return !keep(w) })
	if len(m.Children) < before {
		m.index()
	}
}

// HasDeleted reports whether we have already deleted an object.
func (m *Memory) HasDeleted(uid types.UID) bool {
	_, yes := m.Deleted[uid]
	return yes
}

// NoteDeletion remembers a deletion until the cache shows it.
func (m *Memory) NoteDeletion(uid types.UID, d Deletion) {
	if m.Deleted == nil {
		m.Deleted = map[types.UID]Deletion{}
	}
	m.Deleted[uid] = d
}

// IsNews reports whether a message differs from the last one with this reason,
// and records it.
func (m *Memory) IsNews(reason, message string) bool {
	if m.Reported[reason] == message {
		return false
	}
	if m.Reported == nil {
		m.Reported = map[string]string{}
	}
	m.Reported[reason] = message
	return true
}

// Newest returns the newer of the cached primary and the response to our own
// last write. A response in another API version than the rules now read is
// ignored.
func (m *Memory) Newest(cached *watch.Object) *watch.Object {
	if m.Self == nil || m.Self.GetUID() != cached.GetUID() || m.Self.GetAPIVersion() != cached.GetAPIVersion() {
		m.Self = nil
		return cached
	}
	// The response to the removal of the last finalizer has the resourceVersion from
	// before the removal.
	ended := m.Self.Terminating() && len(m.Self.GetFinalizers()) == 0
	if cached.OlderThan(m.Self.GetResourceVersion()) || ended {
		return m.Self
	}
	m.Self = nil
	return cached
}

// LeftAt returns when a rule was first seen to deselect the primary.
func (m *Memory) LeftAt(rule string, now time.Time) time.Time {
	if at, ok := m.DeselectedAt[rule]; ok {
		return at
	}
	if m.DeselectedAt == nil {
		m.DeselectedAt = map[string]time.Time{}
	}
	m.DeselectedAt[rule] = now
	return now
}

// Patch returns the entry of a manager's patch and adds it when missing.
func (m *Memory) Patch(manager string) *WrittenPatch {
	w := m.patches[manager]
	if w == nil {
		w = &WrittenPatch{}
		if m.patches == nil {
			m.patches = map[string]*WrittenPatch{}
		}
		m.patches[manager] = w
	}
	return w
}

// Share returns the primary's share for the rule at an index of its kind's
// rules. After a reload another rule may have that index; set then moves the
// share to its meter.
func (m *Memory) Share(i int) *plan.Share {
	for len(m.shares) <= i {
		m.shares = append(m.shares, plan.Share{})
	}
	return &m.shares[i]
}

// Withdraw removes the shares from an index to the end.
func (m *Memory) Withdraw(from int) {
	for i := from; i < len(m.shares); i++ {
		m.shares[i].Set(plan.Share{})
	}
}

// Written is our last write of one child, taken from the API server's
// response. It must not be set from a watch, which may show another writer's
// change.
type Written struct {
	Identity    rules.Identity
	UID         types.UID
	Hash        [16]byte // of the rendering that was applied
	Fields      managedfields.Entry
	Version     string        // resourceVersion of the response
	Took        time.Duration // how long the request took, until the status accounts for it
	Object      *watch.Object // the response, until the cache catches up
	Checked     string        // resourceVersion at which a Secret's data was last compared
	CheckedFor  *rules.Child  // with which version of the rule
	Schema      decide.CheckedSchema
	Rejected    *rejectedWrite // the last write; nil: it was accepted
	Failure     *Failure       // the last creation; nil: it did not fail
	Replacement *rejectedWrite // rejected write of the object that replaces it
	Damper      decide.Damper
	Dispute     *decide.Dispute // with other owners of a shared object; nil: they agree
	Foreign     bool            // another owner held the name when it was last checked
	Seen        bool            // an object of ours was seen under the name
	Gone        bool            // a done object that was looked for and does not exist
	Replaced    bool            // deleted in order to be created again
	Removed     bool            // deleted in a teardown, or left to other owners
	Renew       bool            // a shared object is to be applied once more
}

// Existed reports whether the object existed before, and reconcel did not delete it
// in order to create it again.
func (w *Written) Existed() bool { return (w.UID != "" || w.Seen) && !w.Replaced }

// WrittenStatus is our last write of the primary's status, or a status that
// already had the values we would write.
type WrittenStatus struct {
	Known    bool
	Digest   [16]byte
	Fields   managedfields.Entry
	Version  string
	Schema   decide.CheckedSchema
	Rejected *rejectedWrite // the last write; nil: it was accepted
	Silenced *rejectedWrite // the write that reports the rejected write
	Damper   decide.Damper
}

// Is records that an object has the status with this digest.
func (s *WrittenStatus) Is(digest [16]byte, o *watch.Object) {
	s.Known, s.Digest, s.Fields, s.Version = true, digest, o.Fields(), o.GetResourceVersion()
}

// WrittenPatch is our last write of one patch of the primary.
type WrittenPatch struct {
	Hash     [16]byte            // of the patch; zero: not written, or reverted
	Fields   managedfields.Entry // the fields that we owned after the write
	Version  string              // resourceVersion of the response
	Schema   decide.CheckedSchema
	Rejected *rejectedWrite
	Damper   decide.Damper
	Renew    bool // it is to be applied once more
	// Of the fields that are computed from themselves: what the API server has made of them, the patch that the rules make
	// of that, which is not written, and why.
	Stored, Next [16]byte
	Unstable     error
}

// A Deletion is one that we have requested. The cache may not show it yet. It
// may not even show the object yet.
type Deletion struct {
	Identity rules.Identity
	Version  string // resourceVersion at which the object was deleted
}
