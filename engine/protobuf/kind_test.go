package protobuf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"reconcel/engine/decode"
	"reconcel/rules/projection"
)

// kinds returns the kinds of objects in k8s.io/api.
func kinds(t *testing.T) (all []schema.GroupVersionKind) {
	t.Helper()
	for gvk := range scheme.Scheme.AllKnownTypes() {
		o, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		if _, isObject := o.(metav1.ObjectMetaAccessor); isObject && gvk.Version != runtime.APIVersionInternal {
			all = append(all, gvk)
		}
	}
	return all
}

// lackingInProtobuf are kinds with a nested apiVersion and kind, which Protobuf lacks.
var lackingInProtobuf = map[string]bool{"StatefulSet": true, "Eviction": true}

// TestStatefulSets are read in Protobuf if nothing reads their claim templates.
func TestStatefulSets(t *testing.T) {
	gvk := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	for _, p := range []*projection.Projection{projection.Whole(), reading("spec"), reading("spec", "volumeClaimTemplates")} {
		if Of(gvk, p) != nil {
			t.Error("they are read in Protobuf, without the apiVersion and kind of their claims")
		}
	}
	if Of(gvk, reading("status")) == nil {
		t.Error("their status is not read in Protobuf")
	}
}

// TestEveryKind checks random objects of all kinds: in Protobuf they are the same as in JSON, whole
// and projected.
func TestEveryKind(t *testing.T) {
	for _, gvk := range kinds(t) {
		t.Run(strings.ReplaceAll(gvk.String(), "/", " "), func(t *testing.T) {
			source := rand.New(rand.NewSource(1))
			random := fuzzer.FuzzerFor(metafuzzer.Funcs, source, scheme.Codecs)
			for range 20 {
				o, _ := scheme.Scheme.New(gvk)
				random.Fill(o)
				o.GetObjectKind().SetGroupVersionKind(gvk)
				sent := inProtobuf(t, o)
				want := inJSON(t, sent)
				check(t, gvk, sent, want, projection.Whole())
				check(t, gvk, sent, want, part(source, want))
			}
		})
	}
}

// part returns a projection that keeps some random fields.
func part(source *rand.Rand, object map[string]any) *projection.Projection {
	b := &projection.Builder{}
	keepSome(source, b, object)
	return b.Projection()
}

func keepSome(source *rand.Rand, b *projection.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			f := v[key]
			switch source.Intn(3) {
			case 0:
				b.Field(key).Keep()
			case 1:
				keepSome(source, b.Field(key), f)
			}
		}
	case []any:
		for _, item := range v {
			keepSome(source, b.Each(), item)
		}
	}
}

// check compares an event about an object that was sent with the object in JSON.
func check(t *testing.T, gvk schema.GroupVersionKind, sent []byte, want map[string]any, p *projection.Projection) {
	t.Helper()
	kind := Of(gvk, p)
	if kind == nil && lackingInProtobuf[gvk.Kind] {
		return
	}
	if kind == nil {
		_, err := objectOf(scheme.Scheme.AllKnownTypes()[gvk], p)
		t.Fatalf("no Protobuf: %v", err)
	}
	got, err := decode.New(new(Reader).Events(kind, bytes.NewReader(frame(t, "ADDED", sent)))).Value(projection.Whole())
	if err != nil {
		t.Fatal(err)
	}
	event := got.(map[string]any)
	if event["type"] != "ADDED" {
		t.Errorf("got type %v", event["type"])
	}
	object := event["object"].(map[string]any)
	if metadata := want["metadata"]; !reflect.DeepEqual(object["metadata"], metadata) {
		t.Fatalf("got metadata %s\nwant %s", show(object["metadata"]), show(metadata))
	}
	if got, want := p.OfMap(object), p.OfMap(want); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %s\nwant %s", show(got), show(want))
	}
}

func show(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(out)
}

// inProtobuf returns an object as the API server sends it.
func inProtobuf(t testing.TB, o runtime.Object) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := serializer.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// inJSON returns an object that was sent in Protobuf as it would have been sent in JSON.
func inJSON(t *testing.T, sent []byte) map[string]any {
	t.Helper()
	o, gvk, err := serializer.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(sent, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.GetObjectKind().SetGroupVersionKind(*gvk)
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := utiljson.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// frame returns an event of a watch.
func frame(t testing.TB, is string, object []byte) []byte {
	t.Helper()
	event := &metav1.WatchEvent{Type: is, Object: runtime.RawExtension{Raw: object}}
	data, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}
