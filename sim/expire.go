package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/kstatus"
)

// expiry returns when a Job is deleted because it has finished, or the zero time. Like the
// ttl-after-finished controller, it counts from the condition that ended the Job.
func expiry(u *unstructured.Unstructured) time.Time {
	if u.GroupVersionKind().GroupKind() != jobKind {
		return time.Time{}
	}
	ttl, limited, _ := unstructured.NestedInt64(u.Object, "spec", "ttlSecondsAfterFinished")
	if !limited || u.GetDeletionTimestamp() != nil {
		return time.Time{}
	}
	finished, done := kstatus.Finished(u.Object)
	if !done {
		return time.Time{}
	}
	return finished.Add(time.Duration(ttl) * time.Second)
}

// NextExpiry returns when the next Job is deleted later because it has finished, or the zero time.
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

// expire deletes a Job whose time to live is over, and reports whether it did.
func (c *Cluster) expire(u *unstructured.Unstructured) bool {
	if at := expiry(u); at.IsZero() || c.clock.Now().Before(at) {
		return false
	}
	c.remove(u, metav1.DeletePropagationForeground)
	return true
}
