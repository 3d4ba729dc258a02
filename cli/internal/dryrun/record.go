package dryrun

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// A Write is one request that would change the cluster.
type Write struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	Subresource     string
	Manager         string          // the field manager
	Patch           types.PatchType // "": it is a deletion
	Body            []byte          // of the patch

	// Rehearsal: its sender asked for a dry run, and would not write either.
	Rehearsal bool
	// Before is the object as it is, After as it would be; each is nil where there
	// is none. They must not be changed.
	Before, After *unstructured.Unstructured
	// Computed: the API server was not asked for After.
	Computed bool
	Err      error
}

// Deletes reports whether the write is a deletion.
func (w *Write) Deletes() bool { return w.Patch == "" }

// Same reports whether two writes are about the same object.
func (w *Write) Same(other *Write) bool {
	return w.Resource == other.Resource && w.Namespace == other.Namespace && w.Name == other.Name && w.Subresource == other.Subresource
}

// A Recorder records the writes of one context.
type Recorder struct {
	mu     sync.Mutex
	writes []*Write
	failed []error
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

// Unread returns why objects could not be read.
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

// under returns the accepted write on which another one builds, or nil: one of
// the two edits managedFields alone, by a JSON patch.
func (r *Recorder) under(w *Write) *Write {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, last := range slices.Backward(r.writes) {
		if last.Same(w) && last.Err == nil {
			if last.Patch == types.JSONPatchType || w.Patch == types.JSONPatchType {
				return last
			}
			return nil
		}
	}
	return nil
}

// makes reports whether a namespace is among what was created.
func (r *Recorder) makes(namespace string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.writes, func(w *Write) bool {
		return w.Resource == namespaces && w.Name == namespace && w.Err == nil && w.Before == nil
	})
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
