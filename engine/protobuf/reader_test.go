package protobuf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/projection"
)

var deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")

// reading returns a projection that keeps one field.
func reading(path ...string) *projection.Projection {
	b := &projection.Builder{}
	b.Below(path...).Keep()
	return b.Projection()
}

// submessage returns a field that is a message.
func submessage(number protowire.Number, content ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), bytes.Join(content, nil))
}

// novelty is a field of a later version of Kubernetes.
var novelty = protowire.AppendVarint(protowire.AppendTag(nil, 60, protowire.VarintType), 1)

// sent returns a Deployment as the API server sends it, with more fields in its metadata, template
// and status.
func sent(t testing.TB, metadata, template, status []byte) []byte {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: appsv1.DeploymentStatus{Replicas: 2}}
	known := func(text []byte, err error) []byte {
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	object := bytes.Join([][]byte{
		submessage(1, known(d.ObjectMeta.Marshal()), metadata),
		submessage(2, submessage(3, submessage(1, template))),
		submessage(3, known(d.Status.Marshal()), status),
	}, nil)
	typeMeta := submessage(1, submessage(1, []byte("apps/v1")), submessage(2, []byte("Deployment")))
	return bytes.Join([][]byte{magic, typeMeta, submessage(2, object)}, nil)
}

// TestUnknownFields has an API server that is newer than this program. Only a rule that may read
// the field needs JSON.
func TestUnknownFields(t *testing.T) {
	far := protowire.AppendVarint(protowire.AppendTag(nil, 6000, protowire.VarintType), 1)
	labels := &projection.Builder{}
	labels.Below("metadata", "labels").Keep()
	labels.Below("spec").Keep()
	for name, c := range map[string]struct {
		reads    *projection.Projection
		sent     []byte
		readable bool
	}{
		"whole":                    {projection.Whole(), sent(t, nil, nil, novelty), false},
		"all of the status":        {reading("status"), sent(t, nil, nil, novelty), false},
		"a high number":            {reading("status"), sent(t, nil, nil, far), false},
		"the field":                {reading("status", "novelty"), sent(t, nil, nil, novelty), false},
		"another field":            {reading("status", "replicas"), sent(t, nil, nil, bytes.Join([][]byte{novelty, far}, nil)), true},
		"nothing of the status":    {reading("spec"), sent(t, nil, nil, novelty), true},
		"all of the metadata":      {reading("metadata"), sent(t, novelty, nil, nil), false},
		"the labels":               {labels.Projection(), sent(t, novelty, nil, nil), true},
		"managed fields":           {labels.Projection(), sent(t, submessage(17, novelty), nil, nil), true},
		"all managed fields":       {projection.Whole(), sent(t, submessage(17, novelty), nil, nil), false},
		"metadata of the template": {labels.Projection(), sent(t, nil, novelty, nil), false},
	} {
		text, err := io.ReadAll(new(Reader).Object(Of(deployments, c.reads), bytes.NewReader(c.sent)))
		_, unreadable := errors.AsType[UnreadableError](err)
		if unreadable == c.readable || c.readable && (err != nil || !json.Valid(text)) {
			t.Errorf("%s: got %s, %v", name, text, err)
		}
	}
}

// TestWhatIsNotReadIsLeftOut checks that it is not decoded.
func TestWhatIsNotReadIsLeftOut(t *testing.T) {
	text, err := io.ReadAll(new(Reader).Object(Of(deployments, reading("status", "replicas")), bytes.NewReader(sent(t, nil, nil, nil))))
	const want = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"status":{"replicas":2}}` + "\n"
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

// TestEventsInPieces reads several events of a stream that comes byte by byte.
func TestEventsInPieces(t *testing.T) {
	status := inProtobuf(t, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Code: 410, Reason: metav1.StatusReasonExpired})
	large := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Data: map[string]string{"a": strings.Repeat("\x01\"é", 200_000)}}
	stream := append(frame(t, "ADDED", inProtobuf(t, large)), frame(t, "ERROR", status)...)
	kind := Of(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, projection.Whole())
	r := &Reader{}
	d := json.NewDecoder(r.Events(kind, iotest.OneByteReader(bytes.NewReader(stream))))
	var added struct {
		Type   string
		Object struct{ Data map[string]string }
	}
	if err := d.Decode(&added); err != nil || added.Type != "ADDED" || added.Object.Data["a"] != large.Data["a"] {
		t.Errorf("got %s with %d bytes, %v", added.Type, len(added.Object.Data["a"]), err)
	}
	var failed struct {
		Type   string
		Object metav1.Status
	}
	if err := d.Decode(&failed); err != nil || failed.Type != "ERROR" || failed.Object.Code != 410 || failed.Object.Reason != metav1.StatusReasonExpired {
		t.Errorf("got %v, %v", failed, err)
	}
	if err := d.Decode(&failed); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if cap(r.frame) > keptBuffer || cap(r.text) > keptBuffer {
		t.Errorf("it keeps buffers of %d and %d bytes", cap(r.frame), cap(r.text))
	}
}

// TestLists reads a list, and what is left of it when it breaks.
func TestLists(t *testing.T) {
	item := func(name string) []byte { return submessage(2, submessage(1, submessage(1, []byte(name)))) }
	list := func(kind string, fields ...[]byte) []byte {
		typeMeta := submessage(1, submessage(1, []byte("apps/v1")), submessage(2, []byte(kind)))
		return slices.Concat(magic, typeMeta, submessage(2, fields...), submessage(4, []byte("later")))
	}
	meta := submessage(1, submessage(2, []byte("7")))
	kind := Of(deployments, reading("status"))
	for _, c := range []struct {
		sent []byte
		want string
	}{
		{list("DeploymentList", meta, item("a"), item("b")), `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"}}`},
		{list("DeploymentList", meta), `{"items":[],"metadata":{"resourceVersion":"7"}}`},
		{[]byte(`{"items":[]}`), `{"items":[]}`},
		{[]byte("{}"), "{}"},
	} {
		got, err := io.ReadAll(new(Reader).List(kind, iotest.OneByteReader(bytes.NewReader(c.sent))))
		if err != nil || strings.TrimSpace(string(got)) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
	whole := list("DeploymentList", meta, item("a"), item("b"))
	end := bytes.Index(whole, submessage(4, []byte("later")))
	for n := len(magic); n < end; n++ {
		if got, err := io.ReadAll(new(Reader).List(kind, bytes.NewReader(whole[:n]))); err == nil || json.Valid(got) {
			t.Fatalf("after %d of %d bytes: %s, %v", n, end, got, err)
		}
	}
	for name, text := range map[string][]byte{
		"another kind":     list("PodList", meta),
		"a broken object":  list("DeploymentList", meta, submessage(2, []byte{0xff})),
		"an unknown field": list("DeploymentList", meta, submessage(2, submessage(3, novelty))),
	} {
		_, err := io.ReadAll(new(Reader).List(kind, bytes.NewReader(text)))
		if _, unreadable := errors.AsType[UnreadableError](err); !unreadable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersInJSON has an API server without Protobuf.
func TestAnswersInJSON(t *testing.T) {
	const text = `{"type":"ADDED","object":{}}` + "\n" + `{"type":"DELETED","object":{}}` + "\n"
	kind := Of(deployments, projection.Whole())
	for name, r := range map[string]io.Reader{
		"events":      new(Reader).Events(kind, strings.NewReader(text)),
		"object":      new(Reader).Object(kind, strings.NewReader(text)),
		"no Protobuf": new(Reader).Events(nil, strings.NewReader(text)),
	} {
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if Of(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}, projection.Whole()) != nil {
		t.Error("a kind that is not Kubernetes' own is read in Protobuf")
	}
}

// TestBrokenStreams checks the errors: a stream that breaks is not one that cannot be read.
func TestBrokenStreams(t *testing.T) {
	event := frame(t, "ADDED", sent(t, nil, nil, nil))
	kind := Of(deployments, projection.Whole())
	for n := 1; n < len(event); n++ {
		if _, err := io.ReadAll(new(Reader).Events(kind, bytes.NewReader(event[:n]))); !errors.Is(err, ErrCut) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
	other := inProtobuf(t, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
	for name, stream := range map[string][]byte{
		"an object of another kind": frame(t, "ADDED", other),
		"no object":                 frame(t, "ADDED", nil),
		"a page":                    []byte("<html></html>"),
		"garbage":                   append(binary.BigEndian.AppendUint32(nil, 3), 0xff, 0xff, 0xff),
		"a list in two parts":       frame(t, "ADDED", sent(t, nil, nil, scattered())),
		"a number as text":          frame(t, "ADDED", sent(t, nil, nil, []byte{2<<3 | 2, 0})),
	} {
		_, err := io.ReadAll(new(Reader).Events(kind, bytes.NewReader(stream)))
		if _, unreadable := errors.AsType[UnreadableError](err); !unreadable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// scattered returns two conditions of a DeploymentStatus, with a number between them.
func scattered() []byte {
	condition := protowire.AppendBytes(protowire.AppendTag(nil, 6, protowire.BytesType), nil)
	number := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	return bytes.Join([][]byte{condition, condition}, number)
}

// FuzzEvents reads any bytes: what comes out is JSON, or an error.
func FuzzEvents(f *testing.F) {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{"a": "b"}, CreationTimestamp: metav1.Unix(1, 0),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`)}},
	}}
	f.Add(inProtobuf(f, d))
	kind := Of(deployments, projection.Whole())
	f.Fuzz(func(t *testing.T, object []byte) {
		text, err := io.ReadAll(new(Reader).Events(kind, bytes.NewReader(frame(t, "ADDED", object))))
		if err == nil && !json.Valid(text) && !bytes.Contains(text, []byte(`"fieldsV1":`)) { // That is JSON already.
			t.Errorf("got %q for %q", text, object)
		}
	})
}

// BenchmarkEvent reads events of a Deployment, and keeps only its metadata and status.
func BenchmarkEvent(b *testing.B) {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	event := frame(b, "MODIFIED", inProtobuf(b, d))
	source := bytes.NewReader(nil)
	r := new(Reader).Events(Of(deployments, reading("status")), source)
	buf := make([]byte, 1<<14)
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(event)
		if _, err := r.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}
