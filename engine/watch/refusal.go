package watch

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// DeniedPatience is how long requests must be denied before that counts as a lost
// permission. An API server that has just restarted denies all requests for some
// seconds, until it has read its roles.
const DeniedPatience = 15 * time.Second

// watchProof is how long a watch without a bookmark must last before a refusal counts as over:
// the API server may begin a watch and then send an error.
const watchProof = 5 * time.Second

// A refusal is a period in which the objects of a namespace cannot be listed or watched. It is
// logged once, and again if a permission is missing then.
type refusal struct {
	mu       sync.Mutex
	since    time.Time // zero if there is none
	restored string    // the message for its end; empty if its beginning was not logged
}

// repeat records another refused request, and reports whether to log it now. restored is the message
// for its end.
func (r *refusal) repeat(now time.Time, restored string) (log bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = now
	}
	if r.restored == restored || now.Sub(r.since) < DeniedPatience {
		return false
	}
	r.restored = restored
	return true
}

// markLogged records a refused request that another message has reported.
func (r *refusal) markLogged(now time.Time, restored string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		r.since = now
	}
	r.restored = restored
}

// end records the end of the refusal, and returns the message for it, if there is one.
func (r *refusal) end() (restored string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	restored = r.restored
	r.since, r.restored = time.Time{}, ""
	return restored
}

// refused records that a list or watch of a namespace has failed, and logs it if that lasts. Its
// objects stay in the cache.
func (l *listing) refused(n *namespaced, err error) {
	denied, restored := apierrors.IsForbidden(err), watchRestored
	if denied {
		restored = permissionRestored
	}
	n.stale.Store(&err)
	log := n.logger(l.Log).With("kind", l.watch.GVK.String(), "error", err)
	switch {
	case l.unlisted(l.watch, n, err):
		n.refusal.markLogged(time.Now(), restored)
	case !n.refusal.repeat(time.Now(), restored):
		log.Debug("watch failed, will retry")
	case denied:
		log.Warn("lost permission to watch; cached data may be stale")
	default:
		log.Warn("watch fails; cached data may be stale")
	}
}

// The messages at the end of a refusal.
const (
	watchRestored      = "watch restored"
	permissionRestored = "watch permission restored"
)

// resumed records that a watch of a namespace works.
func (l *listing) resumed(n *namespaced) {
	n.stale.Store(nil)
	log := n.logger(l.Log).With("kind", l.watch.GVK.String())
	switch n.refusal.end() {
	case watchRestored:
		log.Info(watchRestored)
	case permissionRestored:
		log.Info(permissionRestored)
	}
}

// An observedDecoder reads the events of a watch, and records what they say about it. After an error
// event, the informer repeats the watch without reporting the error.
type observedDecoder struct {
	frameDecoder
	listing    *listing
	namespaced *namespaced
	proof      *time.Timer // records that the watch works; nil if only a bookmark shows that
}

// Decode implements watch.Decoder.
func (d *observedDecoder) Decode() (apiwatch.EventType, runtime.Object, error) {
	is, o, err := d.frameDecoder.Decode()
	switch is {
	case apiwatch.Bookmark:
		d.listing.resumed(d.namespaced)
	case apiwatch.Error:
		if reason := apierrors.FromObject(o); !isExpired(reason) {
			d.listing.refused(d.namespaced, reason)
		}
	}
	return is, o, err
}

// Close implements watch.Decoder.
func (d *observedDecoder) Close() {
	if d.proof != nil {
		d.proof.Stop()
	}
	d.frameDecoder.Close()
}

// isExpired reports whether the API server has forgotten the version from which a watch resumes.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// watchDenied reports whether the watch of a namespace is still forbidden. It sends a request for a
// watch that costs the API server little: it has forgotten that version, or begins with few events.
func (l *listing) watchDenied(ctx context.Context, n *namespaced) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := metav1.ListOptions{Watch: true, ResourceVersion: "1"}
	l.watch.tweakList(&o)
	body, err := l.begin(ctx, n, o)
	if err == nil {
		_ = body.Close()
	}
	if !apierrors.IsForbidden(err) {
		return false
	}
	l.refused(n, err)
	return true
}
