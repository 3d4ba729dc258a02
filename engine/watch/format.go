package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/engine/protobuf"
)

// format returns how to read the objects of the watch; nil: ask for JSON.
func (w *Watch) format() *protobuf.Kind {
	w.chooseFormat.Do(func() { w.binary.Store(protobuf.Of(w.GVK, w.reads)) })
	return w.binary.Load()
}

// useJSON makes the next requests ask for JSON, because Protobuf cannot be read.
func (w *Watch) useJSON() { w.binary.Store(nil) }

// A serializer also reads errors in Protobuf.
type serializer struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	all := slices.Clip(s.NegotiatedSerializer.SupportedMediaTypes())
	if binary, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf); ok {
		all = append(all, binary)
	}
	return all
}
