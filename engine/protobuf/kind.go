package protobuf

import (
	"bytes"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/rules/projection"
)

// A Kind says how to read the objects of one of Kubernetes' own kinds. nil stands for a kind that
// the API server is asked for in JSON.
type Kind struct {
	gvk    schema.GroupVersionKind
	object *message
	status *message // a metav1.Status
}

// Of returns how to read a kind. What p does not keep of the objects is left out, except for the
// metadata. It returns nil for kinds that are not in k8s.io/api.
func Of(gvk schema.GroupVersionKind, p *projection.Projection) *Kind {
	t, known := scheme.Scheme.AllKnownTypes()[gvk]
	if !known {
		return nil
	}
	c := compiler{}
	object, err := c.object(t, p)
	if err != nil {
		return nil
	}
	status, err := c.message(reflect.TypeFor[metav1.Status](), projection.Whole())
	if err != nil {
		return nil
	}
	return &Kind{gvk: gvk, object: object, status: status}
}

const either = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// Accept returns the header of requests for what a Reader can read.
func (k *Kind) Accept() string {
	if k == nil {
		return runtime.ContentTypeJSON
	}
	return either
}

// Formats returns the values of Accept.
func Formats() []string { return []string{runtime.ContentTypeJSON, either} }

// object returns how to write objects of a Go type. The metadata is whole.
func (c compiler) object(t reflect.Type, p *projection.Projection) (*message, error) {
	m, err := c.message(t, p)
	if err != nil {
		return nil, err
	}
	const metadata = 1
	f := m.field(metadata)
	if f == nil || f.name != "metadata" {
		return nil, fmt.Errorf("%s has no metadata", t)
	}
	read, err := c.message(reflect.TypeFor[metav1.ObjectMeta](), p.Field("metadata"))
	if err != nil {
		return nil, err
	}
	if f.value, err = c.valueOf(reflect.TypeFor[metav1.ObjectMeta](), projection.Whole()); err != nil {
		return nil, err
	}
	f.message.open = read.open
	return m, nil
}

// magic begins an object.
var magic = []byte("k8s\x00")

// writeObject appends an object that is wrapped in a runtime.Unknown: its apiVersion and kind in
// field 1, the object in field 2.
func (k *Kind) writeObject(out, in []byte) ([]byte, error) {
	wrapped, ok := bytes.CutPrefix(in, magic)
	if !ok {
		return nil, errInvalid
	}
	typeMeta, err := only(wrapped, 1)
	if err != nil {
		return nil, err
	}
	content, err := only(wrapped, 2)
	if err != nil {
		return nil, err
	}
	apiVersion, err := only(typeMeta.bytes, 1)
	if err != nil {
		return nil, err
	}
	kind, err := only(typeMeta.bytes, 2)
	if err != nil {
		return nil, err
	}
	m := k.object
	switch is := schema.FromAPIVersionAndKind(string(apiVersion.bytes), string(kind.bytes)); is {
	case k.gvk:
	case schema.GroupVersionKind{Version: "v1", Kind: "Status"}:
		m = k.status
	default:
		return nil, fmt.Errorf("an object of %s instead of %s", is, k.gvk)
	}
	out = appendQuoted(append(out, `{"apiVersion":`...), apiVersion.bytes)
	out = appendQuoted(append(out, `,"kind":`...), kind.bytes)
	if out, err = m.writeFields(out, content.bytes); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// writeEvent appends a metav1.WatchEvent: its type in field 1, and in field 2 a
// runtime.RawExtension with the object in field 1.
func (k *Kind) writeEvent(out, in []byte) ([]byte, error) {
	name, err := only(in, 1)
	if err != nil {
		return nil, err
	}
	extension, err := only(in, 2)
	if err != nil {
		return nil, err
	}
	content, err := only(extension.bytes, 1)
	if err != nil {
		return nil, err
	}
	out = appendQuoted(append(out, `{"type":`...), name.bytes)
	if out, err = k.writeObject(append(out, `,"object":`...), content.bytes); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}
