package watch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"reconcel/engine/managedfields"
	"reconcel/engine/protobuf"
	"reconcel/rules"
)

// binaryEvent returns an event of a watch in Protobuf.
func binaryEvent(is apiwatch.EventType, object []byte) []byte {
	text, err := (&metav1.WatchEvent{Type: string(is), Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// fromJSON returns an object of k8s.io/api.
func fromJSON(tb testing.TB, text []byte) runtime.Object {
	tb.Helper()
	o, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), text)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func binaryFrames(w *Watch, stream []byte) *frameDecoder {
	body := io.NopCloser(bytes.NewReader(stream))
	from := new(protobuf.Reader).Events(w.format(), body)
	return &frameDecoder{objects: newObjectReader(w, w.GVK, from), body: body, term: &term{}, unreadable: func(protobuf.UnreadableError) { w.useJSON() }}
}

// TestEventsAreTheSameInBothFormats compares what a cache keeps, for each role.
func TestEventsAreTheSameInBothFormats(t *testing.T) {
	text := readTestdata(t, "deployment.json")
	for _, role := range []Role{Primary, Child, Lookup} {
		w := New(Key{GVK: deployments, Role: role}, fooRules(t).Reads().Child(deployments))
		_, want, err := frames(w, string(eventFrame(text, 1))).Decode()
		if err != nil {
			t.Fatal(err)
		}
		object := bytes.TrimSuffix(bytes.TrimPrefix(eventFrame(text, 1), []byte(`{"type":"MODIFIED","object":`)), []byte("}\n"))
		is, got, err := binaryFrames(w, binaryEvent(apiwatch.Modified, inProtobuf(fromJSON(t, object)))).Decode()
		if err != nil || is != apiwatch.Modified || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s %v, %v, want %v", role, is, got, err, want)
		}
	}
}

// A versatile API server answers the watch of Services with one event, and then ends it. In
// Protobuf, the object has a field that this program does not know.
type versatile struct {
	mu      sync.Mutex
	accepts []string
}

// ServeHTTP implements http.Handler.
func (v *versatile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	accept := r.Header.Get("Accept")
	v.accepts = append(v.accepts, accept)
	v.mu.Unlock()
	const meta = `{"kind":"Service","apiVersion":"v1","metadata":{%s"resourceVersion":"7"}}`
	service, bookmark := fmt.Sprintf(meta, `"name":"a","namespace":"b",`), fmt.Sprintf(meta, `"annotations":{"k8s.io/initial-events-end":"true"},`)
	if !strings.HasPrefix(accept, runtime.ContentTypeProtobuf) {
		service = strings.Replace(service, `{`, `{"novelty":1,`, 1)
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n"+`{"type":"BOOKMARK","object":%s}`+"\n", service, bookmark)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	o, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), []byte(service))
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	_, _ = w.Write(binaryEvent(apiwatch.Added, withNovelty(inProtobuf(o))))
}

// withNovelty returns an object in Protobuf with a field of a later version of Kubernetes.
func withNovelty(object []byte) []byte {
	const magic = "k8s\x00"
	out := []byte(magic)
	for in := object[len(magic):]; len(in) > 0; {
		number, wire, n := protowire.ConsumeTag(in)
		size := protowire.ConsumeFieldValue(number, wire, in[n:])
		if value := in[:n+size]; number == 2 { // The object itself.
			content, _ := protowire.ConsumeBytes(in[n:])
			content = protowire.AppendVarint(protowire.AppendTag(slices.Clone(content), 63, protowire.VarintType), 1)
			out = protowire.AppendBytes(protowire.AppendTag(out, 2, protowire.BytesType), content)
		} else {
			out = append(out, value...)
		}
		in = in[n+size:]
	}
	return out
}

// TestUnknownFieldsAreWatchedInJSON has an API server that is newer than this program, and rules
// that read whole objects.
func TestUnknownFieldsAreWatchedInJSON(t *testing.T) {
	v := &versatile{}
	server := httptest.NewServer(v)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := New(Key{GVK: services.GVK, Role: Lookup}, rules.VisibleToRules())
	var o *Object
	w.Notify(func(*Object) {}, func() {
		o, _ = w.cache.Load().Get("b", "a")
		cancel()
	})
	ws := &Watcher{Client: client, Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: services}}
	ws.keep(ctx, w, services)
	if o == nil || o.Content()["novelty"] != int64(1) {
		t.Errorf("the cache has %v", o)
	}
	if n := len(v.accepts); n < 2 || v.accepts[0] == v.accepts[n-1] {
		t.Errorf("asked for %q", v.accepts)
	}
}

// TestAnswerWithAnUnknownField checks that an answer to a write is not lost.
func TestAnswerWithAnUnknownField(t *testing.T) {
	text := readTestdata(t, "deployment.json")
	binary := withNovelty(inProtobuf(fromJSON(t, text)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			_, _ = w.Write(binary)
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = w.Write(text)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	for range 2 {
		o, err := (Sender{Client: dynamic.New(client), Direct: client}).Send(t.Context(), w, Patch{
			Kind: deploymentKind, Namespace: "default", Name: "example-foo-0001", Type: types.ApplyPatchType, Body: []byte(`{}`), Manager: "reconcel",
		})
		if err != nil || o.GetName() != "example-foo-0001" || o.Fields() == (managedfields.Entry{}) {
			t.Errorf("got %v, %v", o, err)
		}
	}
}

// BenchmarkBinaryEvent is BenchmarkWatchEvent in Protobuf.
func BenchmarkBinaryEvent(b *testing.B) {
	text := readTestdata(b, "deployment.json")
	var events [64][]byte
	for n := range events {
		object := bytes.TrimSuffix(bytes.TrimPrefix(eventFrame(text, n), []byte(`{"type":"MODIFIED","object":`)), []byte("}\n"))
		events[n] = binaryEvent(apiwatch.Modified, inProtobuf(fromJSON(b, object)))
	}
	w := New(Key{GVK: deployments, Role: Child}, fooRules(b).Reads().Child(deployments))
	r := bytes.NewReader(nil)
	f := &frameDecoder{objects: newObjectReader(w, deployments, new(protobuf.Reader).Events(w.format(), r)), body: io.NopCloser(r), term: &term{}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		r.Reset(events[n%len(events)])
		if _, _, err := f.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}
