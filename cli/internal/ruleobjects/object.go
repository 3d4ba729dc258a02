package ruleobjects

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/internal/yamltext"
	"reconcel/rules/source"
	"reconcel/rules/syntax"
)

// An Object is a Rules object as a rules file.
type Object struct {
	File    source.File // named Rules NAMESPACE/NAME
	Err     error       // it cannot be a file, or nil
	Created time.Time
	// Lost: the object is not there, and it is not known to be removed. Its rules stay as they are. Why says why they
	// do, or is "" while that is being found out.
	Lost bool
	Why  string

	live *unstructured.Unstructured // nil if it is lost
	with string                     // what it was deleted with, if it is lost and that is known
}

// objectOf returns an object as a file. Of its metadata, only what it approves is left: with a name, the parser would
// judge how the text is written, which is only how this function writes it.
func objectOf(u *unstructured.Unstructured) *Object {
	o := &Object{File: source.File{Name: syntax.ObjectFile(u.GetNamespace(), u.GetName())},
		Created: u.GetCreationTimestamp().Time, live: u}
	content := maps.Clone(u.Object)
	delete(content, "metadata")
	delete(content, "status")
	if approved := u.GetAnnotations()[syntax.AnnotationApprove]; approved != "" {
		content["metadata"] = map[string]any{"annotations": map[string]any{syntax.AnnotationApprove: approved}}
	}
	o.File.Data, o.Err = yamltext.Marshal(content)
	return o
}

// Keep returns the active version of a lost object with a note of what it was deleted with. So the next process knows
// it, too, when the namespace or the CustomResourceDefinition is there again.
func (o *Object) Keep(active []source.File) []source.File {
	if o.with == "" {
		return active
	}
	active = slices.Clone(active)
	for i := range active {
		if f := &active[i]; deletedWith(*f) == "" {
			f.Data = slices.Concat(f.Data, noteOf(o.with))
		}
	}
	return active
}

// noteOf returns the comment that ends the file of an object that was deleted with something. No other file of an
// object has comments.
func noteOf(with string) []byte { return []byte("# deleted with its " + with + "\n") }

// deletedWith returns what an object was deleted with, by the note in its file, or "".
func deletedWith(f source.File) string {
	for _, with := range []string{home, definition} {
		if bytes.HasSuffix(f.Data, slices.Concat([]byte("\n"), noteOf(with))) { // Text in the rules is indented.
			return with
		}
	}
	return ""
}

// Rules returns how many rules the object has.
func (o *Object) Rules() int {
	if o.live == nil {
		return 0
	}
	all, _ := o.live.Object["rules"].([]any)
	return len(all)
}
