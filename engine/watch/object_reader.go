package watch

import (
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/decode"
	"reconcel/engine/managedfields"
	"reconcel/rules"
	"reconcel/rules/projection"
)

// An objectReader reads objects of a watch from a stream, in one pass. It keeps what the
// rules read.
type objectReader struct {
	watch    *Watch
	decoder  *decode.Decoder
	managers managedfields.Reader
	// apiVersion and kind are those of objects without any: the API server omits them in
	// lists of its own kinds.
	apiVersion, kind any
}

func newObjectReader(w *Watch, gvk schema.GroupVersionKind, from io.Reader) *objectReader {
	r := &objectReader{decoder: decode.New(nil)}
	r.reset(w, gvk, from)
	return r
}

// reset prepares the reader for another stream.
func (r *objectReader) reset(w *Watch, gvk schema.GroupVersionKind, from io.Reader) {
	r.watch, r.apiVersion, r.kind = w, gvk.GroupVersion().String(), gvk.Kind
	r.decoder.Reset(from)
}

// read reads the next object.
func (r *objectReader) read() (*Object, error) {
	o := &Object{content: map[string]any{"apiVersion": r.apiVersion, "kind": r.kind}}
	err := r.decoder.Object(func(key string) error {
		f := r.watch.reads.Field(key)
		if key == "metadata" {
			return r.metadata(o, f)
		}
		return r.field(o.content, key, f)
	})
	if err != nil {
		return nil, err
	}
	o.reader = &unstructured.Unstructured{Object: o.content}
	return o, nil
}

func (r *objectReader) metadata(o *Object, reads *projection.Projection) error {
	metadata := map[string]any{}
	o.content["metadata"] = metadata
	o.controller, o.fields, o.patches, o.orphaned = nil, managedfields.Entry{}, nil, false
	var references any
	err := r.decoder.Object(func(key string) error {
		switch key {
		case "managedFields":
			managers, err := r.managers.Read(r.decoder)
			if err == nil {
				o.keepManagers(managers, r.watch.Role)
			}
			return err
		case "ownerReferences":
			v, err := r.decoder.Value(projection.Whole())
			if f := reads.Field(key); f != nil {
				metadata[key] = f.Of(v)
			}
			references = v
			return err
		}
		return r.field(metadata, key, reads.Field(key))
	})
	namespace, _ := metadata["namespace"].(string)
	o.keepController(rules.ControllerIn(references, namespace))
	return err
}

func (r *objectReader) field(m map[string]any, key string, reads *projection.Projection) error {
	if reads == nil {
		return r.decoder.Skip()
	}
	v, err := r.decoder.Value(reads)
	m[key] = v
	return err
}
