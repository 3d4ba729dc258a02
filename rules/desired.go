package rules

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"k8s.io/apimachinery/pkg/util/json"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/rules/expr"
	"reconcel/rules/kstatus"
)

// Desired is the desired state of one object.
type Desired struct {
	Child *Child
	Index int // among the objects of the child
	State State
	Err   *Failure // set in state Failed
	// Waits names what an unrendered child waits for, such as
	// "deployment.status.availableReplicas". In state Rendered, it names the closed
	// gates: children that come earlier and are not ready. They delay creation and
	// changes of the rendering, but not the repair of drift.
	Waits []string
	// Excluded are the ids of excluded children that the object reads, so that it is excluded, too.
	Excluded []string
	Identity Identity
	Done     *Done    // what an object of this name has done, whether it exists or not; nil: nothing
	Hash     [16]byte // of the normalised rendering
	Live     Live     // what Input.Observed returned for Identity
	// Readiness of the live child with respect to this rendering. An object
	// that does not carry this rendering yet is Progressing.
	Readiness kstatus.Readiness
	Reason    string // why it is not Ready, for people; "" when Ready
	// Available: the live child is ready, even with an older rendering. For an
	// older rendering, it is set only where objects are replaced one after another.
	Available bool
	// Tracked: AnnotationOwner links the object to the primary, because an owner
	// reference is not possible, or would delete the object too early.
	Tracked bool

	installation string // Input.Installation
	duplicate    bool   // another child renders the same object

	body    []byte  // JSON object up to and within metadata.annotations, see AppendApply
	span    span    // of body in Rendering.buf
	ignored []value // of Child.ignored
	// ignoring reports for each of Child.ignored whether it is ignored.
	ignoring []bool
	values   []any // of the iterators
}

// Subject names the object in messages: child "web", or child "web"[2] for one of
// several.
func (d *Desired) Subject() string {
	if d.Child.IsCollection() {
		return fmt.Sprintf("child %q[%d]", d.Child.ID, d.Index)
	}
	return fmt.Sprintf("child %q", d.Child.ID)
}

// HashString returns the hash in the form of AnnotationApplied.
func (d *Desired) HashString() string { return hex.EncodeToString(d.Hash[:]) }

// IndexMark returns the value of AnnotationIndex, or "" for none. It is not part of the
// rendering: an object that only moves in its list is not replaced.
func (d *Desired) IndexMark() string {
	if !d.Child.Sequential {
		return ""
	}
	return strconv.Itoa(d.Index)
}

// carriesRendering reports whether the live child carries this rendering.
func (d *Desired) carriesRendering() bool {
	if d.Live.Applied == "" || d.Child.keeps() {
		return true
	}
	var own [2 * len(d.Hash)]byte
	hex.Encode(own[:], d.Hash[:])
	return d.Live.Applied == string(own[:])
}

// AppendApply appends the body of a server-side apply of the child: the rendering
// with labels, owner reference, AnnotationApplied, AnnotationIndex and AnnotationInstallation. uid
// restricts the apply to one incarnation of the object. resourceVersion "1" makes
// it create-only. Each of the two is omitted if it is empty.
//
// The child must be Rendered. Ignored fields are not part of it.
func (d *Desired) AppendApply(dst []byte, uid, resourceVersion string) []byte {
	dst = append(dst, d.body...)
	dst = append(dst, `"`+AnnotationApplied+`":"`...)
	dst = hex.AppendEncode(dst, d.Hash[:])
	dst = append(dst, '"')
	if mark := d.IndexMark(); mark != "" {
		dst = expr.AppendString(append(dst, `,"`+AnnotationIndex+`":`...), mark)
	}
	if d.installation != "" {
		dst = expr.AppendString(append(dst, `,"`+AnnotationInstallation+`":`...), d.installation)
	}
	dst = append(dst, '}')
	if resourceVersion != "" {
		dst = expr.AppendString(append(dst, `,"resourceVersion":`...), resourceVersion)
	}
	if uid != "" {
		dst = expr.AppendString(append(dst, `,"uid":`...), uid)
	}
	return append(dst, "}}"...)
}

// Complete returns the body of an apply with values for ignored fields, and without the late
// ones. uid and resourceVersion are those of AppendApply.
func (d *Desired) Complete(uid, resourceVersion string, fields []FieldValue) ([]byte, error) {
	body := d.AppendApply(nil, uid, resourceVersion)
	late := d.Child.late()
	if len(fields)+len(late) == 0 {
		return body, nil
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Subject(), err)
	}
	for _, path := range late {
		unstructured.RemoveNestedField(object, path...)
	}
	for _, f := range fields {
		object = withField(object, f)
	}
	return json.Marshal(object)
}

// Whole returns the object as it is created, with ignored fields and without
// AnnotationApplied. Generated stands for each generated value.
func (d *Desired) Whole() (map[string]any, error) {
	object, err := d.Object()
	if err != nil {
		return nil, err
	}
	fields, err := d.Ignored()
	for _, f := range d.Child.ignored {
		if f.generated {
			fields = append(fields, FieldValue{f.keys, base64.StdEncoding.EncodeToString([]byte(Generated))})
		}
	}
	for _, f := range fields {
		object = withField(object, f)
	}
	return object, err
}

// Object returns the rendering as a new object, without AnnotationApplied and
// ignored fields.
func (d *Desired) Object() (map[string]any, error) {
	if len(d.body) == 0 {
		return nil, fmt.Errorf("%s is not rendered", d.Subject())
	}
	body := append(expr.Close(bytes.Clone(d.body), '}'), "}}"...)
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Subject(), err)
	}
	if metadata := mapAt(out, "metadata"); len(mapAt(metadata, "annotations")) == 0 {
		delete(metadata, "annotations")
	}
	return out, nil
}

// A FieldValue is a field of an object and a value for it.
type FieldValue struct {
	Path  []string // the keys of the maps that contain it
	Value any
}

// Ignored returns the fields that belong to others once the object exists, with the
// values for its creation. It omits fields without a value, and generated ones.
func (d *Desired) Ignored() ([]FieldValue, error) {
	var out []FieldValue
	for i, f := range d.Child.ignored {
		if f.generated || len(d.ignored) <= i || len(d.ignored[i].json) == 0 {
			continue
		}
		var v any
		if err := json.Unmarshal(d.ignored[i].json, &v); err != nil {
			return nil, err
		}
		out = append(out, FieldValue{Path: f.keys, Value: v})
	}
	return out, nil
}

// IgnoredPaths returns the paths of the fields that an apply of this rendering ignores.
func (d *Desired) IgnoredPaths() [][]string {
	var out [][]string
	for i, f := range d.Child.ignored {
		if f.when == nil || i < len(d.ignoring) && d.ignoring[i] {
			out = append(out, f.keys)
		}
	}
	return append(out, d.Child.late()...)
}

// withField sets a value under a path of maps. It copies the maps that it changes.
func withField(object map[string]any, f FieldValue) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	key := f.Path[0]
	if len(f.Path) == 1 {
		out[key] = f.Value
		return out
	}
	inner, _ := out[key].(map[string]any)
	out[key] = withField(inner, FieldValue{f.Path[1:], f.Value})
	return out
}
