package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"reconcel/rules"
	"reconcel/rules/source"
)

var deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}

// fooRules are the rules of the example foo.
func fooRules(tb testing.TB) *rules.Program {
	tb.Helper()
	text, err := os.ReadFile("../../examples/foo/rules.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := rules.Load([]source.File{{Name: "rules.yaml", Data: text}})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func readTestdata(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

// TestStreamGivesTheSameObjects compares the objects of a stream with those of decoded
// answers, for each role.
func TestStreamGivesTheSameObjects(t *testing.T) {
	text := readTestdata(t, "deployment.json")
	for _, role := range []Role{Primary, Child, Lookup} {
		w := New(Key{GVK: deployments, Role: role}, fooRules(t).Reads().Child(deployments))
		got, err := newObjectReader(w, deployments, bytes.NewReader(text)).read()
		if err != nil {
			t.Fatal(err)
		}
		whole := decoded(t, string(text))
		want := NewObject(whole, role)
		if !reflect.DeepEqual(got.Content(), w.Cached(want.Content())) {
			t.Errorf("%s: got %v", role, got.Content())
		}
		if got.Fields() != want.Fields() || !reflect.DeepEqual(got.rare, want.rare) || got.marks != want.marks || got.applied == "" {
			t.Errorf("%s: its fields are %v, want %v", role, got.Fields(), want.Fields())
		}
		owner, controlled := want.Controller()
		for name, o := range map[string]*Object{"stream": got, "answer": w.objectOf(decoded(t, string(text)))} {
			if c, is := o.Controller(); !controlled || !is || c != owner {
				t.Errorf("%s: %s: its controller is %v, want %v", role, name, c, owner)
			}
		}
	}
}

// TestChildrenKeepOnlyWhatIsRead checks what a cache has of the metadata of children.
func TestChildrenKeepOnlyWhatIsRead(t *testing.T) {
	const text = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"other","uid":"2"},
		{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","name":"a","uid":"1","controller":true}],
		"name":"web","namespace":"default","labels":{"app":"web","reconcel.dev/rule":"r","reconcel.dev/child":"c"},
		"annotations":{"reconcel.dev/applied":"abc","note":"long"}}}`
	rule := func(use string) *rules.Program {
		p, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: r
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  children:
  - id: c
    template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
  status: {app: "${` + use + `}"}
`)}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, test := range []struct{ use, want string }{
		{"c.status.replicas", `{"annotations":{},"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"}}`},
		{"c.metadata.labels.app", `{"annotations":{},"labels":{"app":"web","reconcel.dev/child":"c","reconcel.dev/rule":"r"}}`},
		{"size(c.metadata.annotations)", `{"annotations":{"note":"long","reconcel.dev/applied":"abc"},"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"}}`},
		{"c.metadata.ownerReferences[0].name", `{"annotations":{},"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"ownerReferences":[{"name":"other"},{"name":"a"}]}`},
		{"c.metadata.name", `{"annotations":{},"labels":{"reconcel.dev/child":"c","reconcel.dev/rule":"r"},"name":"web"}`},
	} {
		w := New(Key{GVK: deployments, Role: Child}, rule(test.use).Reads().Child(deployments))
		o, err := newObjectReader(w, deployments, strings.NewReader(text)).read()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(o.metadata()); err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, want %s (%v)", test.use, got, test.want, err)
		}
		if o.GetName() != "web" || o.GetNamespace() != "default" || o.Applied() != "abc" {
			t.Errorf("%s: kept apart is %+v", test.use, o.marks)
		}
		if owner, ok := o.Controller(); !ok || owner.String() != "Foo.samplecontroller.k8s.io/default/a" && owner.String() != "Foo/default/a" {
			t.Errorf("%s: its controller is %v", test.use, owner)
		}
	}
}

// TestObjectsOfListsHaveAKind checks what the API server omits in lists.
func TestObjectsOfListsHaveAKind(t *testing.T) {
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	list, err := newObjectReader(w, deployments, strings.NewReader(
		`{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)).list()
	if err != nil {
		t.Fatal(err)
	}
	if list.ResourceVersion != "7" || list.Continue != "c" || len(list.Items) != 2 {
		t.Fatalf("%+v", list)
	}
	for i, name := range []string{"a", "b"} {
		if o := list.Items[i].(*Object); o.GetName() != name || o.GroupVersionKind() != deployments || list.Items[i].GetObjectKind().GroupVersionKind() != deployments {
			t.Errorf("%v", o.Content())
		}
	}
}

func TestListsThatAreNone(t *testing.T) {
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	for text, want := range map[string]string{
		`{"metadata":{"resourceVersion":"7"},"items":null}`: "",
		`{"metadata":{"resourceVersion":"7"}}`:              "no items",
		`{"metadata":{},"items":[{"metadata":{"name":"a"`:   "EOF",
		`{"metadata":{},"items":[{"metadata":{"name":"a"}`:  "EOF",
		`{"metadata":{},"items":[3]}`:                       "invalid JSON",
		`<html>`:                                            "invalid JSON",
	} {
		list, err := newObjectReader(w, deployments, strings.NewReader(text)).list()
		if want == "" && (err != nil || len(list.Items) > 0) || want != "" && (list != nil || err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, %v, want %q", text, list, err, want)
		}
	}
}

func frames(w *Watch, text string) *frameDecoder {
	body := io.NopCloser(strings.NewReader(text))
	return &frameDecoder{objects: newObjectReader(w, deployments, body), body: body, term: &term{}}
}

func TestFrames(t *testing.T) {
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	f := frames(w, `{"type":"ADDED","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","resourceVersion":"1"}}}
{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}
`)
	is, o, err := f.Decode()
	if err != nil || is != apiwatch.Added || o.(*Object).GetName() != "a" {
		t.Error(is, o, err)
	}
	is, o, err = f.Decode()
	if m, _ := o.(metav1.Object); err != nil || is != apiwatch.Bookmark || m.GetResourceVersion() != "2" || m.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Error(is, o, err)
	}
	is, o, err = f.Decode()
	if err != nil || is != apiwatch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(o)) {
		t.Error(is, o, err)
	}
	if _, _, err := f.Decode(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestFramesThatAreNone(t *testing.T) {
	w := New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules())
	for _, text := range []string{
		`{"type":"ADDED"}`, `{"type":"CHANGED","object":{}}`, `{"type":"ADDED","object":null}`, `{"type":"ADDED","object":{"metadata":{"name":"a"`, `[]`, `x`,
	} {
		if is, o, err := frames(w, text).Decode(); err == nil || o != nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v %v, %v", text, is, o, err)
		}
	}
}

// numbered returns the n-th Deployment, each with its own name, UIDs and resourceVersion.
func numbered(text []byte, n int) []byte {
	own := strings.NewReplacer("-0001", fmt.Sprintf("-%04d", n), "0a7b11", fmt.Sprintf("%06d", n), "f7a001", fmt.Sprintf("%06d", n), "123456", fmt.Sprintf("%06d", n))
	return []byte(own.Replace(string(text)))
}

// eventFrame returns an event of the n-th Deployment.
func eventFrame(text []byte, n int) []byte {
	return fmt.Appendf(nil, `{"type":"MODIFIED","object":%s}`+"\n", numbered(text, n))
}

// TestChildrenShareWhatIsEqual reads children of one primary, and one of another primary.
func TestChildrenShareWhatIsEqual(t *testing.T) {
	const longMessage = `ReplicaSet \"example-foo-0001-5d7c9b6f\" has successfully progressed.`
	text := strings.Replace(string(readTestdata(t, "deployment.json")), longMessage, "done", 1)
	w := New(Key{GVK: deployments, Role: Child}, fooRules(t).Reads().Child(deployments))
	other := strings.NewReplacer("-0001", "-0002", "0a7b11", "0a7b12")
	stranger := strings.NewReplacer("-0001", "-0003", "f7a001", "f7a002", `"replicas":1`, `"replicas":2`)
	r := newObjectReader(w, deployments, strings.NewReader(text+other.Replace(text)+stranger.Replace(text)))
	var all [3]*Object
	for i := range all {
		o, err := r.read()
		if err != nil {
			t.Fatal(err)
		}
		all[i] = o
	}
	identity := func(o *Object) unsafe.Pointer { return reflect.ValueOf(o.content).UnsafePointer() }
	if a, b := all[0], all[1]; identity(a) != identity(b) || a.GetName() == b.GetName() || a.GetUID() == b.GetUID() {
		t.Errorf("two children with equal content do not share it: %v and %v", a.content, b.content)
	}
	if identity(all[0]) == identity(all[2]) || all[0].controller == all[2].controller {
		t.Error("different children share their content or controller")
	}
	want := decoded(t, text)
	if got := all[0].DeepCopy(); got.GetName() != want.GetName() || got.GetUID() != want.GetUID() || got.GetCreationTimestamp() != want.GetCreationTimestamp() ||
		got.GetAnnotations()[rules.AnnotationApplied] != all[0].Applied() {
		t.Errorf("a copy is %v", got)
	}
}

// BenchmarkObjectSize measures how many bytes a cached object keeps.
func BenchmarkObjectSize(b *testing.B) {
	program, text := fooRules(b), readTestdata(b, "deployment.json")
	foo := schema.GroupVersionKind{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Kind: "Foo"}
	fooText := readTestdata(b, "foo.json")
	for name, c := range map[string]struct {
		w    *Watch
		text []byte
	}{
		"deployment":       {New(Key{GVK: deployments, Role: Child}, program.Reads().Child(deployments)), text},
		"deployment/whole": {New(Key{GVK: deployments, Role: Child}, rules.VisibleToRules()), text},
		"foo":              {New(Key{GVK: foo, Role: Primary}, program.Reads().Primary(foo)), fooText},
		"foo/whole":        {New(Key{GVK: foo, Role: Primary}, rules.VisibleToRules()), fooText},
	} {
		b.Run(name, func(b *testing.B) {
			const number = 1000
			for b.Loop() {
				r := bytes.NewReader(nil)
				f := &frameDecoder{objects: newObjectReader(c.w, c.w.GVK, r), body: io.NopCloser(r), term: &term{}}
				kept := make([]runtime.Object, 0, number)
				before := heap()
				for n := range number {
					r.Reset(eventFrame(c.text, n))
					_, o, err := f.Decode()
					if err != nil {
						b.Fatal(err)
					}
					kept = append(kept, o)
				}
				b.ReportMetric(float64(heap()-before)/number, "B/object")
				goruntime.KeepAlive(kept)
				goruntime.KeepAlive(f)
			}
		})
	}
}

// heap returns the bytes of live objects.
func heap() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkWatchEvent reads events of different Deployments.
func BenchmarkWatchEvent(b *testing.B) {
	text := readTestdata(b, "deployment.json")
	var frames [64][]byte
	for n := range frames {
		frames[n] = eventFrame(text, n)
	}
	w := New(Key{GVK: deployments, Role: Child}, fooRules(b).Reads().Child(deployments))
	r := bytes.NewReader(nil)
	f := &frameDecoder{objects: newObjectReader(w, deployments, r), body: io.NopCloser(r), term: &term{}}
	b.SetBytes(int64(len(frames[0])))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		r.Reset(frames[n%len(frames)])
		if _, _, err := f.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWatchEventWhole reads the same event as the dynamic client does.
func BenchmarkWatchEventWhole(b *testing.B) {
	frame := eventFrame(readTestdata(b, "deployment.json"), 1)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		var event metav1.WatchEvent
		if err := json.Unmarshal(frame, &event); err != nil {
			b.Fatal(err)
		}
		o, err := runtime.Decode(unstructured.UnstructuredJSONScheme, event.Object.Raw)
		if err != nil {
			b.Fatal(err)
		}
		NewObject(o.(*unstructured.Unstructured), Child)
	}
}
