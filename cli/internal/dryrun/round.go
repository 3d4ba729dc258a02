package dryrun

import (
	"bytes"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// later is the resourceVersion of all answers. It is newer than that of every object in
// the cluster, so the engine reads an answer before its cache.
const later = "9223372036854775807"

// answered returns a copy of the answer to a write, for the engine.
func answered(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetResourceVersion(later)
	return u
}

// created reports whether the write made an object that did not exist.
func (w *Write) created() bool { return w.Before == nil && w.After != nil }

// restore replaces the resourceVersion of an earlier answer in the body of a write by
// the one that the API server knows. An object that the earlier write created does not
// exist there, so the write becomes a creation.
func (w *Write) restore(earlier *Write) {
	version := ""
	if w.Before != nil {
		version = w.Before.GetResourceVersion()
	}
	if earlier != nil && earlier.created() {
		version = neverVersion
		if uid := earlier.After.GetUID(); uid != "" {
			w.Body = bytes.ReplaceAll(w.Body, fmt.Appendf(nil, `"uid":%q`, uid), []byte(`"uid":""`))
		}
	}
	w.Body = bytes.ReplaceAll(w.Body, []byte(strconv.Quote(later)), []byte(strconv.Quote(version)))
}

// restored returns the options of a deletion with the resourceVersion that the API
// server knows.
func (w *Write) restored(options metav1.DeleteOptions) metav1.DeleteOptions {
	if w.Before == nil || options.Preconditions == nil || ptr.Deref(options.Preconditions.ResourceVersion, "") != later {
		return options
	}
	options.Preconditions = &metav1.Preconditions{UID: options.Preconditions.UID,
		ResourceVersion: new(w.Before.GetResourceVersion())}
	return options
}
