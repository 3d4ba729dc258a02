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
	read   sync.Map // Target without a subresource -> *unstructured.Unstructured
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

// find returns the last accepted write that is meant, or nil.
func (r *Recorder) find(isMeant func(*Write) bool) *Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range slices.Backward(r.writes) {
		if w.Err == nil && isMeant(w) {
			return w
		}
	}
	return nil
}

// under returns the accepted write on which another one builds, or nil. One of the
// two is a JSON patch, which edits only managedFields.
func (r *Recorder) under(w *Write) *Write {
	last := r.find(func(other *Write) bool { return other.Target == w.Target })
	if last != nil && last.Patch != types.JSONPatchType && w.Patch != types.JSONPatchType {
		return nil
	}
	return last
}

// last returns the last accepted write of an object, or nil. A write of a
// subresource does not count.
func (r *Recorder) last(of Target) *Write {
	return r.find(func(w *Write) bool { return w.Target == of.object() && !w.Rehearsal })
}

// creates reports whether a recorded write creates a namespace.
func (r *Recorder) creates(namespace string) bool {
	return r.find(func(w *Write) bool { return w.Resource == namespaces && w.Name == namespace && w.Before == nil }) != nil
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
