package managedfields

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/engine/decode"
)

// entries are managedFields whose fieldsV1 are written in different ways.
var entries = []string{
	`{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{}}}`,
	`{"f:spec":{"f:replicas":{}},"f:metadata":{}}`,
	`{"f:spec":{"f:ports":{"k:{\"port\":80}":{".":{}},"k:{\"port\":443}":{}}}}`,
	`{"f:spec":{"f:ports":{"k:{\"port\":443}":{},"k:{\"port\":80}":{}}}}`,
	ownedBy("6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90"), ownedBy("6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a91"), ownedBy("6B3F8F5E-0C1D-4B7E-9A55-2F0C8D1E7A90"),
	ownedBy("00000000-0000-0000-0000-000000000000"), ownedBy(""), ownedBy("u1"), ownedBy("6b3f8f5e00c1d-4b7e-9a55-2f0c8d1e7a90"),
	`{ "f:a": {} }`, `{"f:<a>":{}}`, `{"f:\u0041":{}}`, `{"f:é":{}}`, `{"f:a":{},"f:a":{}}`, `{"f:a\\b":{},"f:a\"b":{}}`, `{"f:a\"b":{},"f:a\\b":{}}`,
	`{}`, `null`, `{"f:a":1}`, strings.Repeat(`{"f:a":`, 2*maxNested) + `{}` + strings.Repeat(`}`, 2*maxNested),
}

func ownedBy(uid string) string {
	return `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"` + uid + `\"}":{}}},"f:spec":{"f:replicas":{}}}`
}

// TestEntriesKeepTheirText checks that an entry has the fields that it was made of, that
// different texts are different entries, and that the UID of an owner is not part of what
// objects share.
func TestEntriesKeepTheirText(t *testing.T) {
	for _, a := range entries {
		if got := NewEntry(a).fieldsV1(); got != a {
			t.Errorf("the text of %s is %s", a, got)
		}
		for _, b := range entries {
			if same := NewEntry(a) == NewEntry(b); same != (a == b) {
				t.Errorf("%s and %s are the same entry: %v", a, b, same)
			}
		}
	}
	a, b := NewEntry(ownedBy("6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90")), NewEntry(ownedBy("b1f7c9d2-3e4a-4c5b-8d6e-7f8091a2b3c4"))
	if a.rest != b.rest {
		t.Errorf("%q and %q are not shared", a.rest.Value(), b.rest.Value())
	}
	if has := a.Set().Has("spec", "replicas"); !has || !a.Names("ownerReferences") {
		t.Errorf("the fields of %s are lost", a.fieldsV1())
	}
}

// TestKnownEntriesAreNotAllocated reads the same fields of objects with different owners.
func TestKnownEntriesAreNotAllocated(t *testing.T) {
	var r Reader
	one, other := []byte(ownedBy("6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90")), []byte(ownedBy("b1f7c9d2-3e4a-4c5b-8d6e-7f8091a2b3c4"))
	r.entryOf(one)
	if n := testing.AllocsPerRun(100, func() { r.entryOf(other) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	for i := range 3 * mostKnown {
		text := ownedBy(strconv.Itoa(i))
		if got := r.entryOf([]byte(text)); got != NewEntry(text) {
			t.Errorf("%s: got %v", text, got)
		}
	}
	if len(r.known) > mostKnown {
		t.Errorf("%d entries are known", len(r.known))
	}
}

// TestReadGivesTheSameEntries compares entries that are read from a stream with those of the
// decoded object.
func TestReadGivesTheSameEntries(t *testing.T) {
	var r Reader
	for _, fields := range entries {
		for _, other := range entries {
			checkRead(t, &r, `[
				{"manager":"reconcel","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":`+fields+`},
				{"fieldsV1":`+other+`,"manager":"reconcel","operation":"Apply","subresource":"status"},
				{"fieldsV1":`+fields+`,"manager":"kubectl","operation":"Apply"},
				{"fieldsV1":`+other+`,"manager":"reconcel","operation":"Update"},
				{"fieldsV1":`+fields+`,"manager":"reconcel/status","operation":"Apply"},
				{"fieldsV1":`+fields+`,"manager":"reconcel/rule","operation":"Apply"},
				{"manager":"reconcel/empty","operation":"Apply"}]`)
		}
	}
	checkRead(t, &r, `[]`)
	checkRead(t, &r, `null`)
	checkRead(t, &r, `[{"manager":"before-first-apply"}]`)
}

func checkRead(t *testing.T, r *Reader, text string) {
	t.Helper()
	var list any
	if err := utiljson.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	want := ManagersOf(map[string]any{"metadata": map[string]any{"managedFields": list}})
	got, err := r.Read(decode.New(strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Child() != want.Child() || got.Status() != want.Status() || got.HasOrphanedFields() != want.HasOrphanedFields() ||
		!reflect.DeepEqual(got.Patches(), want.Patches()) {
		t.Errorf("%s\n got %v %v\nwant %v %v", text, got.Child(), got.Patches(), want.Child(), want.Patches())
	}
}

func FuzzEntryOf(f *testing.F) {
	for _, e := range entries {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var fields any
		if utiljson.Unmarshal(raw, &fields) != nil || fields == nil {
			t.Skip()
		}
		if got, want := new(Reader).entryOf(raw), (manager{fieldsV1: fields}).entry(); got != want {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	})
}
