package dryrun

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Target is what a request is for. A request to list has no name.
type Target struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	Subresource     string
}

// object returns the target without its subresource.
func (t Target) object() Target {
	t.Subresource = ""
	return t
}

// A Write is one request that would change the cluster.
type Write struct {
	Target
	Manager string          // the field manager
	Patch   types.PatchType // "": it is a deletion
	Body    []byte          // of the patch

	// Rehearsal says that the caller itself asked for a dry run.
	Rehearsal bool
	// Before and After are the object before and after the write, or nil. They must
	// not be changed.
	Before, After *unstructured.Unstructured
	// Unasked says that the API server cannot evaluate the write, although the
	// client sends dry runs. After then lacks what the API server would add.
	Unasked bool
	Err     error
}

// Deletes reports whether the write is a deletion.
func (w *Write) Deletes() bool { return w.Patch == "" }

// A Recorder records the writes of one context.
type Recorder struct {
	mu     sync.Mutex
	writes []*Write
	failed []error
	read   map[Target]*unstructured.Unstructured
}

type recorderKey struct{}

// Record returns a context whose writes are recorded.
func Record(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{}
	return context.WithValue(ctx, recorderKey{}, r), r
}

// Writes returns the writes in the order in which they were answered.
func (r *Recorder) Writes() []*Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes)
}

// Unread returns the errors of reads.
func (r *Recorder) Unread() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failed)
}

// recall returns an object that was read, or nil.
func (r *Recorder) recall(of Target) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read[of.object()]
}

func (r *Recorder) remember(of Target, u *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read == nil {
		r.read = map[Target]*unstructured.Unstructured{}
	}
	r.read[of.object()] = u
}

func (r *Recorder) forget(of Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.read, of.object())
}

func (r *Recorder) add(w *Write) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, w)
}

func (r *Recorder) addUnread(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
}

// under returns the accepted write on which another one builds, or nil. One of the
// two is a JSON patch, which edits only managedFields.
func (r *Recorder) under(w *Write) *Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, last := range slices.Backward(r.writes) {
		if last.Target == w.Target && last.Err == nil {
			if last.Patch == types.JSONPatchType || w.Patch == types.JSONPatchType {
				return last
			}
			return nil
		}
	}
	return nil
}

// last returns the last accepted write of an object, or nil. A write of a
// subresource does not count.
func (r *Recorder) last(of Target) *Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range slices.Backward(r.writes) {
		if w.Target == of.object() && w.Err == nil && !w.Rehearsal {
			return w
		}
	}
	return nil
}

// creates reports whether a recorded write creates a namespace.
func (r *Recorder) creates(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.writes, func(w *Write) bool {
		return w.Resource == namespaces && w.Name == namespace && w.Err == nil && w.Before == nil
	})
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
