package ruleobjects

import (
	"maps"
	"strings"
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
}

// objectOf returns an object as a file. Its metadata are left out: with a
// name, the parser would judge how the text is written, which is only how this function writes it.
func objectOf(u *unstructured.Unstructured) *Object {
	o := &Object{File: source.File{Name: fileName(u.GetNamespace(), u.GetName())}, Created: u.GetCreationTimestamp().Time,
		live: u}
	content := maps.Clone(u.Object)
	delete(content, "metadata")
	delete(content, "status")
	o.File.Data, o.Err = yamltext.Marshal(content)
	return o
}

// Rules returns how many rules the object has.
func (o *Object) Rules() int {
	if o.live == nil {
		return 0
	}
	all, _ := o.live.Object["rules"].([]any)
	return len(all)
}

// prefix begins the names of the files that are objects.
const prefix = syntax.Kind + " "

func fileName(namespace, name string) string { return prefix + namespace + "/" + name }

// IsObject reports whether a file is an object, by its name.
func IsObject(file string) bool {
	id, found := strings.CutPrefix(file, prefix)
	return found && strings.Count(id, "/") == 1
}

// nameOf returns the name of the object that is a file.
func nameOf(file string) string { return file[strings.LastIndex(file, "/")+1:] }
