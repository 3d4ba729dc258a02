package managedfields

import (
	"reflect"
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
	`{ "f:a": {} }`, `{"f:<a>":{}}`, `{"f:\u0041":{}}`, `{"f:é":{}}`, `{"f:a":{},"f:a":{}}`, `{"f:a\\b":{},"f:a\"b":{}}`, `{"f:a\"b":{},"f:a\\b":{}}`,
	`{}`, `null`, `{"f:a":1}`, strings.Repeat(`{"f:a":`, 2*maxNested) + `{}` + strings.Repeat(`}`, 2*maxNested),
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
		if got, want := entryOf(raw), (manager{fieldsV1: fields}).entry(); got != want {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	})
}
