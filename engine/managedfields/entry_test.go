package managedfields

import "testing"

func TestEntriesOfPrimary(t *testing.T) {
	object := decodeJSON(t, `{"kind":"Widget","metadata":{"name":"one","managedFields":[
		{"manager":"reconcel","operation":"Apply","subresource":"status","fieldsV1":{"f:status":{}}},
		{"manager":"reconcel/one","operation":"Apply","fieldsV1":{"f:metadata":{}}},
		{"manager":"reconcel/one","operation":"Update","fieldsV1":{"f:spec":{}}},
		{"manager":"reconcel/status","operation":"Apply","fieldsV1":{"f:status":{}}},
		{"manager":"reconcel/status/patch","operation":"Apply","fieldsV1":{"f:spec":{}}},
		{"manager":"other","operation":"Apply","fieldsV1":{"f:data":{}}}]}}`).(map[string]any)
	patches := ManagersOf(object).Patches()
	if got := patches[PatchManager("one")]; len(patches) != 2 || got != NewEntry(`{"f:metadata":{}}`) {
		t.Errorf("%d entries, that of the rule is %v", len(patches), got)
	}
	if got := patches[PatchManager("status")]; got != NewEntry(`{"f:spec":{}}`) {
		t.Errorf("that of the rule called status is %v", got)
	}
	if got, want := ManagersOf(object).Status(), NewEntry(`{"f:status":{}}`); got != want {
		t.Errorf("that of the status is %v", got)
	}
	if ChildEntry(object) != (Entry{}) {
		t.Error("a child's entry is found")
	}
}

func TestNames(t *testing.T) {
	entry := NewEntry(`{"f:metadata":{"f:annotations":{"f:a/b.c":{},"f:a/b":{}}}}`)
	for name, want := range map[string]bool{"a/b": true, "a/b.c": true, "a/": false, "b": false, "metadata": true} {
		if got := entry.Names(name); got != want {
			t.Errorf("Names(%q) = %v", name, got)
		}
	}
	if (Entry{}).Names("a") {
		t.Error("no entry names a field")
	}
}
