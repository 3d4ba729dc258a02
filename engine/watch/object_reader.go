package watch

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/decode"
	"reconcel/engine/managedfields"
	"reconcel/rules"
	"reconcel/rules/projection"
)

// An objectReader reads objects of a watch from a stream, in one pass. It keeps what the
// rules read.
type objectReader struct {
	watch      *Watch
	apiVersion string // of the objects
	decoder    *decode.Decoder
	managers   managedfields.Reader
	owners     owners
	// typed are the apiVersion and kind of objects without any: the API server omits them in
	// lists of its own kinds.
	typed [2]decode.Entry
}

func newObjectReader(w *Watch, gvk schema.GroupVersionKind, from io.Reader) *objectReader {
	r := &objectReader{decoder: decode.New(nil)}
	r.reset(w, gvk, from)
	return r
}

// reset prepares the reader for another stream.
func (r *objectReader) reset(w *Watch, gvk schema.GroupVersionKind, from io.Reader) {
	r.watch, r.apiVersion = w, gvk.GroupVersion().String()
	r.typed = [2]decode.Entry{
		{Key: "apiVersion", Part: decode.TextPart(r.apiVersion)},
		{Key: "kind", Part: decode.TextPart(gvk.Kind)},
	}
	r.decoder.Reset(from)
}

// read reads the next object.
func (r *objectReader) read() (*Object, error) {
	o := &Object{}
	content, err := r.decoder.Map(r.typed[:], func(key string) (decode.Part, error) {
		f := r.watch.reads.Field(key)
		if key == "metadata" {
			return r.metadata(o, f)
		}
		return r.decoder.Part(f)
	})
	if err != nil {
		return nil, err
	}
	o.content = content.Value.(map[string]any)
	if o.controller != nil && o.marksExtended() {
		o.controller = nil
	}
	return o, nil
}

// metadata reads what the rules read of the metadata, and what an Object keeps apart.
func (r *objectReader) metadata(o *Object, reads *projection.Projection) (decode.Part, error) {
	*o = Object{}
	var references any
	part, err := r.decoder.Map(nil, func(key string) (decode.Part, error) {
		f := reads.Field(key)
		switch {
		case key == "managedFields":
			managers, err := r.managers.Read(r.decoder)
			if err == nil {
				o.keepManagers(managers, r.watch.Role, r.apiVersion)
			}
			return decode.Part{}, err
		case key == "annotations":
			return r.annotations(o, f)
		case key == "ownerReferences":
			v, err := r.decoder.Part(projection.Whole())
			references = v.Value
			return v.Of(f), err
		case isMark(key):
			v, err := r.decoder.Part(projection.Whole())
			o.set(key, v.Value)
			return v.Of(f).Alone(), err
		}
		return r.decoder.Part(f)
	})
	if owner, exists := rules.ControllerIn(references, o.namespace); exists {
		o.controller = r.owners.shared(controller{owner, rules.ControllerVersion(references)})
	}
	return part, err
}

func (r *objectReader) annotations(o *Object, reads *projection.Projection) (decode.Part, error) {
	if absent, err := r.decoder.Null(); absent || err != nil {
		return decode.Part{}, err
	}
	part, err := r.decoder.Map(nil, func(key string) (decode.Part, error) {
		f := reads.Field(key)
		if key != rules.AnnotationApplied {
			return r.decoder.Part(f)
		}
		v, err := r.decoder.Part(projection.Whole())
		o.applied, _ = v.Value.(string)
		return v.Of(f), err
	})
	if reads == nil {
		return decode.Part{}, err
	}
	return part, err
}
