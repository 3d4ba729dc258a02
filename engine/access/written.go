package access

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/decide"
	"reconcel/engine/managedfields"
	"reconcel/engine/watch"
	"reconcel/rules"
)

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
	Replacement *rejectedWrite // rejected write of the object that replaces it
	Damper      decide.Damper
	Dispute     *decide.Dispute // with other owners of a shared object; nil: they agree
	Foreign     bool            // another owner held the name when it was last checked
	Seen        bool            // an object of ours was seen under the name
	Gone        bool            // a done object that was looked for and does not exist
	Replaced    bool            // deleted in order to be created again
	Removed     bool            // deleted in a teardown, or left to other owners
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
}

// A Deletion is one that we have requested. The cache may not show it yet. It
// may not even show the object yet.
type Deletion struct {
	Identity rules.Identity
	Version  string // resourceVersion at which the object was deleted
}
