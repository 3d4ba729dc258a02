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
	if d.Live.Applied == "" {
		return true
	}
	var own [2 * len(d.Hash)]byte
	hex.Encode(own[:], d.Hash[:])
	return d.Live.Applied == string(own[:])
}

// AppendApply appends the body of a server-side apply of the child: the
// rendering with labels, owner reference and AnnotationApplied. uid pins the
// apply to one incarnation and resourceVersion "1" makes it create-only; each
// is left out when empty.
//
// The child must be Rendered.
func (d *Desired) AppendApply(dst []byte, uid, resourceVersion string) []byte {
	dst = append(dst, d.body...)
	dst = append(dst, `"`+AnnotationApplied+`":"`...)
	dst = hex.AppendEncode(dst, d.Hash[:])
	dst = append(dst, `"}`...)
	if resourceVersion != "" {
		dst = expr.AppendString(append(dst, `,"resourceVersion":`...), resourceVersion)
	}
	if uid != "" {
		dst = expr.AppendString(append(dst, `,"uid":`...), uid)
	}
	return append(dst, "}}"...)
}

// Object returns the rendering as an object of its own, without
// AnnotationApplied.
func (d *Desired) Object() (map[string]any, error) {
	if len(d.body) == 0 {
		return nil, fmt.Errorf("child %q is not rendered", d.Child.ID)
	}
	body := append(expr.Close(bytes.Clone(d.body), '}'), "}}"...)
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("child %q: %w", d.Child.ID, err)
	}
	metadata, _ := out["metadata"].(map[string]any)
	if annotations, _ := metadata["annotations"].(map[string]any); len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return out, nil
}
