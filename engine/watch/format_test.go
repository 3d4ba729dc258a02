package watch

import (
	"bytes"
	"context"
	"encoding/binary"
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
func binaryEvent(tb testing.TB, is apiwatch.EventType, object []byte) []byte {
	tb.Helper()
	text, err := (&metav1.WatchEvent{Type: string(is), Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		tb.Fatal(err)
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
	return &frameDecoder{objects: newObjectReader(w, w.GVK, from), body: body, term: &term{}, unreadable: func(error) { w.useJSON() }}
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
		is, got, err := binaryFrames(w, binaryEvent(t, apiwatch.Modified, inProtobuf(t, fromJSON(t, numbered(text, 1))))).Decode()
		if err != nil || is != apiwatch.Modified || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s %v, %v, want %v", role, is, got, err, want)
		}
	}
}

// A versatile API server has one Service. In Protobuf, the object has a field that this program does
// not know.
type versatile struct {
	answers  map[string][]byte // by request: "list" or "watch", and a format
	mu       sync.Mutex
	requests []string
}

func newVersatile(t *testing.T) *versatile {
	t.Helper()
	const (
		service  = `{"novelty":1,"kind":"Service","apiVersion":"v1","metadata":{"name":"a","namespace":"b","resourceVersion":"7"}}`
		bookmark = `{"kind":"Service","apiVersion":"v1","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}`
	)
	binary := withNovelty(inProtobuf(t, fromJSON(t, []byte(service))))
	return &versatile{answers: map[string][]byte{
		"list " + runtime.ContentTypeJSON:      []byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[` + service + `]}`),
		"list " + runtime.ContentTypeProtobuf:  binaryList(binary),
		"watch " + runtime.ContentTypeJSON:     []byte(`{"type":"ADDED","object":` + service + "}\n" + `{"type":"BOOKMARK","object":` + bookmark + "}\n"),
		"watch " + runtime.ContentTypeProtobuf: binaryEvent(t, apiwatch.Added, binary),
	}}
}

// ServeHTTP implements http.Handler.
func (v *versatile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what, format := "list", runtime.ContentTypeJSON
	if r.URL.Query().Get("watch") == "true" {
		what = "watch"
	}
	if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		format = runtime.ContentTypeProtobuf
	}
	request := what + " " + format
	v.mu.Lock()
	v.requests = append(v.requests, request)
	v.mu.Unlock()
	w.Header().Set("Content-Type", format)
	_, _ = w.Write(v.answers[request])
	if what == "watch" {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// binaryList returns a list of an object that was sent alone.
func binaryList(object []byte) []byte {
	const magic = "k8s\x00"
	var content []byte
	for in := object[len(magic):]; len(in) > 0; {
		number, _, n := protowire.ConsumeTag(in)
		value, size := protowire.ConsumeBytes(in[n:])
		if number == 2 {
			content = value
		}
		in = in[n+size:]
	}
	field := func(number protowire.Number, value []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
	}
	typeMeta := append(field(1, []byte("v1")), field(2, []byte("ServiceList"))...)
	list := append(field(1, field(2, []byte("7"))), field(2, content)...)
	return slices.Concat([]byte(magic), field(1, typeMeta), field(2, list))
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

// TestUnknownFieldsAreReadInJSON has an API server that is newer than this program, and rules that
// read whole objects.
func TestUnknownFieldsAreReadInJSON(t *testing.T) {
	v := newVersatile(t)
	server := httptest.NewServer(v)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ws := &Watcher{Client: client, Log: slog.New(slog.DiscardHandler), Kinds: oneKind{kind: services}}
	t.Run("watch", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := New(Key{GVK: services.GVK, Role: Lookup}, rules.VisibleToRules())
		var o *Object
		w.Notify(func(*Object) {}, func() {
			o, _ = w.cache.Load().Get("b", "a")
			cancel()
		})
		ws.keep(ctx, w, services)
		if o == nil || o.Content()["novelty"] != int64(1) {
			t.Errorf("the cache has %v", o)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.requests[0] != "watch "+runtime.ContentTypeProtobuf || slices.Contains(v.requests[1:], "watch "+runtime.ContentTypeProtobuf) {
			t.Errorf("the requests were %q", v.requests)
		}
	})
	t.Run("list", func(t *testing.T) {
		v.requests = nil
		w := New(Key{GVK: services.GVK, Role: Lookup}, rules.VisibleToRules())
		l := &listing{Watcher: ws, watch: w, cache: &Cache{kind: services}}
		list, err := l.list(t.Context(), newNamespaced("", w), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].(*Object).Content()["novelty"] != int64(1) {
			t.Errorf("got %v, %v", list, err)
		}
		if !slices.Equal(v.requests, []string{"list " + runtime.ContentTypeProtobuf, "list " + runtime.ContentTypeJSON}) {
			t.Errorf("the requests were %q", v.requests)
		}
	})
}

// TestAnswerWithAnUnknownField checks that an answer to a write is not lost, and that the next one
// is asked for in JSON.
func TestAnswerWithAnUnknownField(t *testing.T) {
	text := readTestdata(t, "deployment.json")
	binary := withNovelty(inProtobuf(t, fromJSON(t, text)))
	var formats []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, format := text, runtime.ContentTypeJSON
		if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
			answer, format = binary, runtime.ContentTypeProtobuf
		}
		formats = append(formats, r.Method+" "+format)
		w.Header().Set("Content-Type", format)
		_, _ = w.Write(answer)
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
	if want := []string{"PATCH " + runtime.ContentTypeProtobuf, "PATCH " + runtime.ContentTypeJSON, "PATCH " + runtime.ContentTypeJSON}; !slices.Equal(formats, want) {
		t.Errorf("the requests were %q, want %q", formats, want)
	}
}

// TestBrokenBinaryWatches checks the ends of watches: only one at its limit is regular.
func TestBrokenBinaryWatches(t *testing.T) {
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	event := binaryEvent(t, apiwatch.Added, inProtobuf(t, fromJSON(t, readTestdata(t, "deployment.json"))))
	for n := range event {
		f := binaryFrames(w, event[:n])
		want := io.ErrUnexpectedEOF
		if n == 0 {
			want = io.EOF
		}
		if _, o, err := f.Decode(); o != nil || err != want { //nolint:errorlint // client-go compares it.
			t.Fatalf("after %d bytes: %v, %v", n, o, err)
		}
	}
	if w.format() == nil {
		t.Error("a broken connection ends the use of Protobuf")
	}
	for name, event := range map[string][]byte{
		"garbage":             append([]byte{0, 0, 0, 2}, 0xff, 0xff),
		"of no type of event": binaryEvent(t, "CHANGED", inProtobuf(t, fromJSON(t, readTestdata(t, "deployment.json")))),
	} {
		w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
		if _, o, err := binaryFrames(w, event).Decode(); o != nil || err != io.EOF || w.format() != nil { //nolint:errorlint // client-go compares it.
			t.Errorf("%s: %v, %v, still in Protobuf: %t", name, o, err, w.format() != nil)
		}
	}
}

// BenchmarkBinaryEvent is BenchmarkWatchEvent in Protobuf.
func BenchmarkBinaryEvent(b *testing.B) {
	text := readTestdata(b, "deployment.json")
	var events [64][]byte
	for n := range events {
		events[n] = binaryEvent(b, apiwatch.Modified, inProtobuf(b, fromJSON(b, numbered(text, n))))
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
