package rules

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/expr"
)

// HashString returns the hash as it stands in AnnotationApplied.
func (d *Desired) HashString() string { return hex.EncodeToString(d.Hash[:]) }

// carried reports whether the live child carries this rendering.
func (d *Desired) carried() bool {
	if d.Live.Applied == "" || d.Child.keeps() {
		return true
	}
	var own [2 * len(d.Hash)]byte
	hex.Encode(own[:], d.Hash[:])
	return d.Live.Applied == string(own[:])
}

// keeps reports whether the child is left alone once it exists.
func (c *Child) keeps() bool { return c.OnChange == Keep || c.Timeout > 0 }

// AppendApply appends the body of a server-side apply of the child: the
// rendering with labels, owner reference, AnnotationApplied and
// AnnotationInstallation. uid pins the
// apply to one incarnation and resourceVersion "1" makes it create-only; each
// is left out when empty.
//
// The child must be Rendered. Ignored fields are no part of it.
func (d *Desired) AppendApply(dst []byte, uid, resourceVersion string) []byte {
	dst = append(dst, d.body...)
	dst = append(dst, `"`+AnnotationApplied+`":"`...)
	dst = hex.AppendEncode(dst, d.Hash[:])
	dst = append(dst, '"')
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

// Complete returns the body of an apply with values for ignored fields, guarded
// like that of AppendApply.
func (d *Desired) Complete(uid, resourceVersion string, fields []FieldValue) ([]byte, error) {
	body := d.AppendApply(nil, uid, resourceVersion)
	if len(fields) == 0 {
		return body, nil
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Subject(), err)
	}
	for _, f := range fields {
		object = set(object, f)
	}
	return json.Marshal(object)
}

// Whole returns the object that is created, ignored fields among the others,
// without AnnotationApplied.
func (d *Desired) Whole() (map[string]any, error) {
	object, err := d.Object()
	if err != nil {
		return nil, err
	}
	fields, err := d.Ignored()
	for _, f := range fields {
		object = set(object, f)
	}
	return object, err
}

// Object returns the rendering as an object of its own, without
// AnnotationApplied and ignored fields.
func (d *Desired) Object() (map[string]any, error) {
	if len(d.body) == 0 {
		return nil, fmt.Errorf("%s is not rendered", d.Subject())
	}
	body := append(expr.Close(bytes.Clone(d.body), '}'), "}}"...)
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Subject(), err)
	}
	metadata, _ := out["metadata"].(map[string]any)
	if annotations, _ := metadata["annotations"].(map[string]any); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return out, nil
}
