package change

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/outcome"
	"reconcel/rules"
)

// A Change is what run would do to one object. It is part of the output of -o json.
type Change struct {
	Primary Object         `json:"primary"`
	Rule    string         `json:"rule"`
	Child   string         `json:"child,omitempty"`
	Object  Object         `json:"object"`
	Part    part           `json:"part,omitempty"`
	Action  outcome.Action `json:"action"`
	Diff    string         `json:"diff,omitempty"`
	Before  map[string]any `json:"before,omitempty"`
	After   map[string]any `json:"after,omitempty"`
	Reason  string         `json:"reason,omitempty"`

	// Later is what a later step of run does to the object, which is skipped now: Deleted,
	// Replaced, or "".
	Later outcome.Action `json:"-"`
	// forbidden: the user of diff lacks the permission. run may have it.
	forbidden bool
	// values are the digest of the values of a Secret in After, which are masked.
	values [sha256.Size]byte
}

// Same reports whether two changes have the same effect on the same object. The names of rules and positions in files
// may differ.
func (c *Change) Same(o *Change) bool {
	if c.Object != o.Object || c.Part != o.Part || c.Action != o.Action || c.Later != o.Later {
		return false
	}
	if !c.Action.IsDifference() {
		return c.Child == o.Child && c.problem() == o.problem()
	}
	return c.values == o.values && reflect.DeepEqual(c.After, o.After)
}

// problem returns the reason without the name of the rule and positions in files.
func (c *Change) problem() string {
	return position.ReplaceAllString(strings.ReplaceAll(c.Reason, fmt.Sprintf("rule %q", c.Rule), "rule"), "")
}

var position = regexp.MustCompile(`\S+:\d+:\d+`)

// A part is the part of a primary that is written; "" is a whole object.
type part string

const (
	finalizersPart part = "finalizers"
	donePart       part = "done" // which objects have done their work
	patchPart      part = "patch"

	// StatusPart is the status of a primary.
	StatusPart part = "status"
)

// An Object is the identity of an object.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"` // "" if not known
}

// ObjectWithID returns the object with an identity.
func ObjectWithID(id rules.Identity) Object {
	return Object{id.GVK.GroupVersion().String(), id.GVK.Kind, id.Namespace, id.Name}
}

// String returns KIND/NAMESPACE/NAME, also for the headers of a diff.
func (o Object) String() string {
	path := []string{o.Kind, o.Namespace, o.Name}
	return strings.Join(slices.DeleteFunc(path, func(s string) bool { return s == "" }), "/")
}

func (o Object) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
}
