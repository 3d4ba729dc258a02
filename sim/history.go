package sim

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Change is a change of one object.
type Change struct {
	Old, New *unstructured.Unstructured // Old is nil for a creation, New for a deletion; do not change them
	Version  string                     // the resourceVersion at which it happened
	At       time.Time
	By       string // the client; "" for Put
}

// note remembers a change.
func (c *Cluster) note(before, after *unstructured.Unstructured) {
	c.changes = append(c.changes, Change{Old: before, New: after, Version: c.versionLocked(), At: c.clock.Now(), By: c.by})
	if surplus := len(c.changes) - c.history; c.history > 0 && surplus > c.history {
		c.changes = slices.Clone(c.changes[surplus:])
		c.forgotten += surplus
	}
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// Changes returns the changes after the first n that are not forgotten, in order.
func (c *Cluster) Changes(n int) []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes[min(max(n-c.forgotten, 0), len(c.changes)):])
}

// ChangeCount returns the number of changes.
func (c *Cluster) ChangeCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.forgotten + len(c.changes)
}

// Since returns the changes after a resourceVersion, in order, the resourceVersion of the last one, and a channel that
// is closed at the next change. It returns false for a resourceVersion that is no number or of the future, and if such
// a change may be forgotten.
func (c *Cluster) Since(version string) (changes []Change, now string, next <-chan struct{}, known bool) {
	after, err := strconv.ParseInt(version, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := c.version - int64(len(c.changes)) // Each change has a resourceVersion of its own.
	if err != nil || after > c.version || after < oldest && c.forgotten > 0 {
		return nil, "", nil, false
	}
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return slices.Clone(c.changes[max(after-oldest, 0):]), c.versionLocked(), c.changed, true
}
