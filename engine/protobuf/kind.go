package protobuf

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/rules/projection"
)

// A Kind says how to read the objects of one of Kubernetes' own kinds. nil stands for JSON.
type Kind struct {
	apiVersion, kind string
	object           *message
	list             *message // a metav1.ListMeta
	status           *message // a metav1.Status
}

// Of returns how to read a kind. What p does not keep of the objects is left out, except for the
// metadata. It returns nil for kinds that are not in k8s.io/api, and for those that have something
// in JSON that Protobuf lacks.
func Of(gvk schema.GroupVersionKind, p *projection.Projection) *Kind {
	t, known := scheme.Scheme.AllKnownTypes()[gvk]
	if !known {
		return nil
	}
	object, err := objectOf(t, p)
	if err != nil {
		return nil
	}
	unread := view{written: projection.Whole()}
	list, wrongList := messageOf(reflect.TypeFor[metav1.ListMeta](), unread)
	status, wrongStatus := messageOf(reflect.TypeFor[metav1.Status](), unread)
	if cmp.Or(wrongList, wrongStatus) != nil {
		return nil
	}
	return &Kind{apiVersion: gvk.GroupVersion().String(), kind: gvk.Kind, object: object, list: list, status: status}
}

// either is the header of requests that Protobuf or JSON may answer.
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

// objectOf returns how to write objects of a Go type. The engine reads all of the metadata, but only
// unknown fields that the rules may read matter.
func objectOf(t reflect.Type, p *projection.Projection) (*message, error) {
	m, err := messageOf(t, view{p, p})
	if err != nil {
		return nil, err
	}
	const metadata = 1
	f := m.field(metadata)
	if f == nil || f.name != "metadata" {
		return nil, fmt.Errorf("%s has no metadata", t)
	}
	whole, err := messageOf(reflect.TypeFor[metav1.ObjectMeta](), view{projection.Whole(), p.Field("metadata")})
	if err != nil {
		return nil, err
	}
	f.value = value{shape: object, wire: protowire.BytesType, message: whole}
	return m, nil
}

// magic begins an object.
var magic = []byte("k8s\x00")

// writeObject appends an object that is wrapped in a runtime.Unknown.
func (k *Kind) writeObject(out, in []byte) ([]byte, error) {
	wrapped, ok := bytes.CutPrefix(in, magic)
	if !ok {
		return nil, errInvalid
	}
	apiVersion, wrong := bytesAt(wrapped, 1, 1)
	kind, wrongKind := bytesAt(wrapped, 1, 2)
	content, wrongContent := bytesAt(wrapped, 2)
	if err := cmp.Or(wrong, wrongKind, wrongContent); err != nil {
		return nil, err
	}
	m := k.object
	switch {
	case string(apiVersion) == k.apiVersion && string(kind) == k.kind:
	case string(apiVersion) == "v1" && string(kind) == "Status":
		m = k.status
	default:
		return nil, fmt.Errorf("%s of %s instead of %s of %s", kind, apiVersion, k.kind, k.apiVersion)
	}
	out = appendQuoted(append(out, `{"apiVersion":`...), apiVersion)
	out = appendQuoted(append(out, `,"kind":`...), kind)
	out, err := m.writeFields(out, content)
	return append(out, '}'), err
}

// writeEvent appends a metav1.WatchEvent, whose object is in a runtime.RawExtension.
func (k *Kind) writeEvent(out, in []byte) ([]byte, error) {
	is, wrong := bytesAt(in, 1)
	content, wrongContent := bytesAt(in, 2, 1)
	if err := cmp.Or(wrong, wrongContent); err != nil {
		return nil, err
	}
	out = appendQuoted(append(out, `{"type":`...), is)
	out, err := k.writeObject(append(out, `,"object":`...), content)
	return append(out, '}'), err
}
