package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// A format is how the events of a watch are encoded.
type format interface {
	contentType() string
	// next reads an event. The last one may be incomplete.
	next(*bufio.Reader) ([]byte, error)
	// line returns an event in JSON, or what is not one as it is.
	line(event []byte) []byte
	// status returns an event with a Status.
	status(metav1.Status) []byte
	// garbled returns an event that cannot be decoded, and ends where this one does.
	garbled(event []byte) []byte
}

// formatOf returns the format of a Content-Type, or of the first choice in an Accept header.
func formatOf(contentType string) format {
	if strings.HasPrefix(contentType, runtime.ContentTypeProtobuf) {
		return inProtobuf{}
	}
	return inJSON{}
}

// inJSON is a line for each event.
type inJSON struct{}

func (inJSON) contentType() string { return runtime.ContentTypeJSON }

func (inJSON) next(from *bufio.Reader) ([]byte, error) { return from.ReadBytes('\n') }

func (inJSON) line(event []byte) []byte { return event }

func (inJSON) status(s metav1.Status) []byte {
	text, _ := json.Marshal(map[string]any{"type": "ERROR", "object": s}) // A Status can be encoded.
	return append(text, '\n')
}

func (inJSON) garbled(event []byte) []byte {
	return append(bytes.Repeat([]byte("}"), len(event)-1), '\n')
}

// inProtobuf is the length of each event in four bytes, and then a metav1.WatchEvent.
type inProtobuf struct{}

const lengthSize = 4

// contentType also allows JSON: custom resources have no Protobuf.
func (inProtobuf) contentType() string {
	return runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
}

func (inProtobuf) next(from *bufio.Reader) ([]byte, error) {
	length, err := from.Peek(lengthSize)
	if err != nil {
		return nil, err
	}
	event := make([]byte, lengthSize+binary.BigEndian.Uint32(length))
	n, err := io.ReadFull(from, event)
	return event[:n], err
}

func (inProtobuf) line(event []byte) []byte {
	var e metav1.WatchEvent
	if len(event) < lengthSize || e.Unmarshal(event[lengthSize:]) != nil {
		return event
	}
	o, gvk, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(e.Object.Raw, nil, nil)
	if err != nil {
		return event
	}
	o.GetObjectKind().SetGroupVersionKind(*gvk)
	text, err := json.Marshal(map[string]any{"type": e.Type, "object": o})
	if err != nil {
		return event
	}
	return text
}

func (inProtobuf) status(s metav1.Status) []byte {
	var object bytes.Buffer
	_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&s, &object) // A Status can be encoded.
	e := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object.Bytes()}}
	text, _ := e.Marshal() // It holds bytes only.
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func (inProtobuf) garbled(event []byte) []byte {
	return append(bytes.Clone(event[:lengthSize]), bytes.Repeat([]byte{0xff}, len(event)-lengthSize)...)
}
