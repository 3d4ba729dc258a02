package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// An action is what ensure did about a child.
type action int

const (
	unchanged   action = iota
	wrote              // created or updated
	held               // a gate is closed: created or changed later
	awaitingEnd        // an object of that name is being deleted
)

// writeTimeout bounds one request, so that a worker is never held up for
// longer, and so that no write of a process outlives it by more.
const writeTimeout = 10 * time.Second

// ensure makes one child exist as rendered. It writes only where that is not
// so already, and never to an object of somebody else.
func (p *pass) ensure(ctx context.Context, d *rules.Desired) (action, error) {
	c := p.primary.cacheOf(d.Identity.GVK)
	if c == nil {
		return unchanged, errStarting // The kind has just been removed.
	}
	if err := inScope(c.kind, d.Identity); err != nil {
		return unchanged, err
	}
	w := p.memory.child(d.Identity)
	live := p.live(d.Identity)
	switch {
	case live == nil && len(d.Waits) > 0:
		return held, nil
	case live == nil:
		return p.create(ctx, c.kind, d, w)
	case !p.ours(d, &live.Unstructured, w):
		return p.foreign(d, &live.Unstructured, w)
	case live.terminating():
		return awaitingEnd, nil
	case len(d.Waits) > 0 && !carries(live, d):
		return held, nil
	case !p.reapply && !drifted(d, live, w):
		return unchanged, nil
	}
	if carries(live, d) && !p.reapply {
		if wait := w.contest.repair(p.engine.clock.Now()); wait > 0 {
			id := d.Identity
			return unchanged, &contestedError{object: name(id.GVK.Kind, id.Namespace, id.Name), wait: wait}
		}
	}
	return p.update(ctx, c.kind, d, w, live)
}

// inScope refuses a cluster-scoped child of a namespaced primary, and a
// namespaced child without a namespace, before anything is sent.
func inScope(k kind, id rules.Identity) error {
	switch {
	case k.namespaced && id.Namespace == "":
		return &terminalError{string(rules.RuleError), 0,
			fmt.Errorf("%s/%s: metadata.namespace is missing, %s is namespaced", id.GVK.Kind, id.Name, id.GVK.Kind)}
	case !k.namespaced && id.Namespace != "":
		return &terminalError{string(rules.RuleError), 0,
			fmt.Errorf("%s/%s: %s is cluster-scoped, and a namespaced resource may own only what is in its namespace", id.GVK.Kind, id.Name, id.GVK.Kind)}
	}
	return nil
}

// ours reports whether an object belongs to the primary: by its UID in the
// controller reference or tracking annotation. Where somebody has taken the
// reference away, our own write is the proof: remembered by UID, or else the
// hash on the object, which covers the owner's UID.
func (p *pass) ours(d *rules.Desired, u *unstructured.Unstructured, w *written) bool {
	o := object{Unstructured: *u}
	if by := o.trackedBy(); by != "" {
		return by == p.req.UID
	}
	return w.uid != "" && w.uid == u.GetUID() || carries(&o, d)
}

// carries reports whether the object was last applied from this rendering.
func carries(o *object, d *rules.Desired) bool {
	var text [2 * len(d.Hash)]byte
	hex.Encode(text[:], d.Hash[:])
	return o.applied() == string(text[:])
}

// drifted reports whether somebody has changed what we own since our last
// write. Values are not compared, so that nothing fights with defaults.
func drifted(d *rules.Desired, live *object, w *written) bool {
	if live.fields == (fields{}) || !carries(live, d) {
		return true
	}
	if w.uid != live.GetUID() && !recognise(d, live, w) {
		return true
	}
	return live.fields != w.fields || secretDiffers(d, live, w)
}

// recognise compares an object that this process has not written with the
// rendering. If every field of it is ours, then nobody has changed any, and
// the entry is what our last write has left.
func recognise(d *rules.Desired, live *object, w *written) bool {
	desired, err := d.Object()
	if err != nil {
		return false
	}
	tree, err := decodeFields(live.fields)
	if err != nil || !covers(tree, identifying(desired)) {
		return false
	}
	w.uid, w.fields, w.version = live.GetUID(), live.fields, live.GetResourceVersion()
	return true
}

// identifying returns the object without the fields that nobody owns, since
// they are its identity.
func identifying(desired map[string]any) map[string]any {
	rest := make(map[string]any, len(desired))
	for key, value := range desired {
		if key != "apiVersion" && key != "kind" {
			rest[key] = value
		}
	}
	if metadata, ok := desired["metadata"].(map[string]any); ok {
		owned := make(map[string]any, len(metadata))
		for key, value := range metadata {
			if key != "name" && key != "namespace" {
				owned[key] = value
			}
		}
		rest["metadata"] = owned
	}
	return rest
}

// secretDiffers compares the data of a Secret, whose ownership does not show a
// change made through stringData. It does so once for each state of the object.
func secretDiffers(d *rules.Desired, live *object, w *written) bool {
	if d.Identity.GVK.GroupKind() != secrets || w.checked == live.GetResourceVersion() {
		return false
	}
	desired, err := d.Object()
	if err != nil {
		return true
	}
	want, _ := desired["data"].(map[string]any)
	have, _ := live.Object["data"].(map[string]any)
	for key := range want {
		if !sameBytes(want[key], have[key]) {
			return true
		}
	}
	w.checked = live.GetResourceVersion()
	return false
}

// sameBytes compares two base64 values. A rendered one may be wrapped, which
// the API server stores without the line breaks.
func sameBytes(a, b any) bool {
	x, _ := a.(string)
	y, _ := b.(string)
	p, errA := base64.StdEncoding.DecodeString(x)
	q, errB := base64.StdEncoding.DecodeString(y)
	return errA == nil && errB == nil && bytes.Equal(p, q)
}

// create makes the child by an apply that only creates: with resourceVersion
// "1" the API server answers 409 when the name is taken, so nothing can be
// adopted by accident, and a lost response or a stale cache makes no second one.
func (p *pass) create(ctx context.Context, k kind, d *rules.Desired, w *written) (action, error) {
	if w.foreign {
		// It was taken a moment ago and most likely still is: look before writing.
		existing, err := p.get(ctx, k, d.Identity)
		if err == nil {
			return p.occupied(ctx, k, d, w, existing)
		}
		if !apierrors.IsNotFound(err) {
			return unchanged, err
		}
	}
	if err := w.refusal.of(p, d, ""); err != nil {
		return unchanged, err
	}
	err := p.apply(ctx, k, d, w, d.AppendApply(nil, "", "1"))
	switch {
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		existing, err := p.get(ctx, k, d.Identity)
		if err != nil {
			return unchanged, err
		}
		return p.occupied(ctx, k, d, w, existing)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return awaitingEnd, nil
	case err != nil:
		return unchanged, w.refusal.note(p, d, "", refused(err))
	}
	w.foreign = false
	return wrote, nil
}

// occupied decides what to do about the object that was found under the
// child's name.
func (p *pass) occupied(ctx context.Context, k kind, d *rules.Desired, w *written, existing *unstructured.Unstructured) (action, error) {
	switch {
	case existing.GetDeletionTimestamp() != nil:
		return awaitingEnd, nil
	case !p.ours(d, existing, w):
		return p.foreign(d, existing, w)
	}
	w.foreign = false
	return p.update(ctx, k, d, w, newObject(existing, childRole))
}

// foreign leaves an object of somebody else alone.
func (p *pass) foreign(d *rules.Desired, u *unstructured.Unstructured, w *written) (action, error) {
	w.foreign = true
	id := d.Identity
	return unchanged, &conflictError{object: name(id.GVK.Kind, id.Namespace, id.Name), holder: holder(u)}
}

// update applies the rendering to an object of ours, pinned to its UID. It is
// forced, since every field that somebody else has changed is a conflict.
func (p *pass) update(ctx context.Context, k kind, d *rules.Desired, w *written, live *object) (action, error) {
	if live.trackedBy() == "" {
		// Somebody has taken the owner away. It may be the garbage collector, as
		// the primary goes and its children are to stay: then they are left alone.
		if err := p.confirm(ctx); err != nil {
			return unchanged, err
		}
	}
	version := live.GetResourceVersion()
	if err := w.refusal.of(p, d, version); err != nil {
		return unchanged, err
	}
	if err := p.apply(ctx, k, d, w, d.AppendApply(nil, string(live.GetUID()), "")); err != nil {
		return unchanged, w.refusal.note(p, d, version, refused(err))
	}
	return wrote, nil
}

// apply sends one body and remembers the response.
func (p *pass) apply(ctx context.Context, k kind, d *rules.Desired, w *written, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	force := true
	id := d.Identity
	response, err := p.engine.resource(k, id.Namespace).Patch(ctx, id.Name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force})
	if err != nil {
		return discreet(id.GVK.GroupKind(), err)
	}
	p.engine.metrics.writes.WithLabelValues("apply", id.GVK.Kind).Inc()
	// What is ours is read off the answer to the apply: a later state may show
	// somebody else's change.
	applied := ownFields(response.Object, childRole)
	if response, err = p.dropOrphanedFields(ctx, k, response); err != nil {
		return err
	}
	o := newObject(response, childRole)
	*w = written{identity: id, uid: o.GetUID(), fields: applied, version: o.GetResourceVersion(), object: o, contest: w.contest}
	return nil
}

// get reads the object under a child's name.
func (p *pass) get(ctx context.Context, k kind, id rules.Identity) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	u, err := p.engine.resource(k, id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name(id.GVK.Kind, id.Namespace, id.Name), err)
	}
	return u, nil
}
