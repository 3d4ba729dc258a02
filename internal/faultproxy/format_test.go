package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// inBoth returns an event in each format.
func inBoth(t *testing.T, version string) map[format][]byte {
	t.Helper()
	o := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "a\n", ResourceVersion: version}}
	var object bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &object); err != nil {
		t.Fatal(err)
	}
	text, err := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object.Bytes()}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(map[string]any{"type": "ADDED", "object": o})
	if err != nil {
		t.Fatal(err)
	}
	return map[format][]byte{
		formatOf("application/json"):                                 append(line, '\n'),
		formatOf("application/vnd.kubernetes.protobuf;stream=watch"): append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...),
	}
}

// TestFormats reads two events, and the first half of a third one.
func TestFormats(t *testing.T) {
	for as, event := range inBoth(t, "7") {
		from := bufio.NewReader(bytes.NewReader(append(bytes.Repeat(event, 2), event[:len(event)/2]...)))
		for range 2 {
			if got, err := as.next(from); err != nil || !bytes.Equal(got, event) {
				t.Errorf("%T: got %q, %v", as, got, err)
			}
		}
		if got, err := as.next(from); err == nil || !bytes.Equal(got, event[:len(event)/2]) {
			t.Errorf("%T: got %q, %v, want a half and the end", as, got, err)
		}
		var shown struct {
			Type   string
			Object struct {
				Metadata struct{ ResourceVersion string }
			}
		}
		if err := json.Unmarshal(as.line(event), &shown); err != nil || shown.Type != "ADDED" || shown.Object.Metadata.ResourceVersion != "7" {
			t.Errorf("%T: shows %q, %v", as, as.line(event), err)
		}
		garbled := as.garbled(event)
		if got, err := as.next(bufio.NewReader(bytes.NewReader(garbled))); err != nil || !bytes.Equal(got, garbled) || json.Valid(as.line(got)) {
			t.Errorf("%T: a garbled event is %q, %v", as, got, err)
		}
		status := as.status(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 410})
		if got, err := as.next(bufio.NewReader(bytes.NewReader(status))); err != nil || !bytes.Contains(as.line(got), []byte(`"code":410`)) {
			t.Errorf("%T: a status is %q, %v", as, as.line(got), err)
		}
		if _, err := as.next(bufio.NewReader(bytes.NewReader(nil))); !errors.Is(err, io.EOF) {
			t.Errorf("%T: at the end: %v", as, err)
		}
	}
}
