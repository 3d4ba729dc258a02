package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/kstatus"
)

// eventTTL is how long an Event exists after its last change, as in an API server without --event-ttl.
const eventTTL = time.Hour

// expiry returns when an object that is not being deleted is deleted because its time to live is over, or
// the zero time.
func expiry(u *unstructured.Unstructured) time.Time {
	if u.GetDeletionTimestamp() != nil {
		return time.Time{}
	}
	switch u.GroupVersionKind().GroupKind() {
	case eventKind:
		last := u.GetCreationTimestamp().Time
		for _, entry := range u.GetManagedFields() {
			if entry.Time != nil && entry.Time.After(last) {
				last = entry.Time.Time
			}
		}
		return last.Add(eventTTL)
	case jobKind:
		return jobExpiry(u)
	}
	return time.Time{}
}

// jobExpiry returns when a Job is deleted because it has finished, or the zero time. Like the
// ttl-after-finished controller, it counts from the condition that ended the Job.
func jobExpiry(u *unstructured.Unstructured) time.Time {
	ttl, limited, _ := unstructured.NestedInt64(u.Object, "spec", "ttlSecondsAfterFinished")
	if !limited {
		return time.Time{}
	}
	finished, done := kstatus.Finished(u.Object)
	if !done {
		return time.Time{}
	}
	return finished.Add(time.Duration(ttl) * time.Second)
}

// NextExpiry returns when the next object is deleted later because its time to live is over, or the zero time.
func (c *Cluster) NextExpiry() (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.queue.expiring {
		if at.After(c.clock.Now()) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// expire deletes an object whose time to live is over, and reports whether it did.
func (c *Cluster) expire(u *unstructured.Unstructured) bool {
	if at := expiry(u); at.IsZero() || c.clock.Now().Before(at) {
		return false
	}
	c.remove(u, metav1.DeletePropagationForeground)
	return true
}
