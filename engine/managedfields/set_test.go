package managedfields

import (
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func set(text string) Set { return NewEntry(text).Set() }

func decodeJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		name, fields, desired string
		want                  bool
	}{
		{"a plain field", `{"f:spec":{"f:a":{}}}`, `{"spec":{"a":1}}`, true},
		{"a field that another manager took", `{"f:spec":{"f:b":{}}}`, `{"spec":{"a":1,"b":2}}`, false},
		{"more than is desired", `{"f:spec":{"f:a":{},"f:b":{}}}`, `{"spec":{"a":1}}`, true},
		{"a null is never owned", `{"f:spec":{"f:a":{}}}`, `{"spec":{"a":1,"b":null}}`, true},
		{"an atomic list", `{"f:spec":{"f:l":{}}}`, `{"spec":{"l":[{"x":1},2]}}`, true},
		{"an empty map", `{"f:spec":{"f:m":{}}}`, `{"spec":{"m":{}}}`, true},
		{"an item by key", `{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}}}`, `{"c":[{"name":"a","image":"x"}]}`, true},
		{"a field of an item", `{"f:c":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}`, `{"c":[{"name":"a","image":"x"}]}`, false},
		{"an item that is gone", `{"f:c":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}`, `{"c":[{"name":"a"}]}`, false},
		{"a defaulted key", `{"f:p":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}`, `{"p":[{"containerPort":80}]}`, true},
		{"a key of another value", `{"f:p":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}`, `{"p":[{"containerPort":81}]}`, false},
		{"a set", `{"f:s":{"v:\"a\"":{},"v:\"b\"":{}}}`, `{"s":["b","a"]}`, true},
		{"a set that lacks one", `{"f:s":{"v:\"a\"":{}}}`, `{"s":["b","a"]}`, false},
		{"nothing of it", `{}`, `{"spec":{"a":1}}`, false},
		{"a key with a colon", `{"f:labels":{"f:a:b":{}}}`, `{"labels":{"a:b":"x"}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := set(c.fields).Covers(decodeJSON(t, c.desired)); got != c.want {
				t.Errorf("Covers = %v", got)
			}
		})
	}
}

func TestExceeds(t *testing.T) {
	for _, c := range []struct {
		name, fields, desired string
		want                  bool
	}{
		{"nothing more", `{"f:a":{},"f:m":{"f:x":{}}}`, `{"a":1,"m":{"x":1}}`, false},
		{"a field that is no longer wanted", `{"f:a":{},"f:b":{}}`, `{"a":1}`, true},
		{"a nested field", `{"f:m":{"f:x":{},"f:y":{}}}`, `{"m":{"x":1}}`, true},
		{"a list entry that is no longer wanted", `{"f:c":{"k:{\"type\":\"A\"}":{".":{},"f:type":{}}}}`, `{"c":[{"type":"B"}]}`, true},
		{"a list entry", `{"f:c":{"k:{\"type\":\"A\"}":{".":{},"f:type":{}}}}`, `{"c":[{"type":"A"}]}`, false},
		{"an atomic value", `{"f:a":{}}`, `{"a":{"x":1}}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := set(c.fields).Exceeds(decodeJSON(t, c.desired)); got != c.want {
				t.Errorf("Exceeds = %v", got)
			}
		})
	}
}

func TestEqualValues(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `"1"`, false}, {`null`, `null`, true},
		{`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {`[1,2]`, `[2,1]`, false},
		{`true`, `false`, false}, {`{}`, `[]`, false},
		{`{"a":{"b":1}}`, `{"a":{"b":1,"c":2}}`, false}, {`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, false},
	} {
		if got := EqualValues(decodeJSON(t, c.a), decodeJSON(t, c.b)); got != c.want {
			t.Errorf("EqualValues(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestAgrees(t *testing.T) {
	for _, c := range []struct {
		name, fields, live, desired string
		want                        bool
	}{
		{"the same", `{}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`, true},
		{"more than is desired", `{}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, true},
		{"another value", `{}`, `{"a":{"b":1}}`, `{"a":{"b":2}}`, false},
		{"no value", `{}`, `{"a":{}}`, `{"a":{"b":2}}`, false},
		{"no map", `{}`, `{"a":1}`, `{"a":{"b":2}}`, false},
		{"a null for what is absent", `{}`, `{}`, `{"a":null}`, true},
		{"a whole list", `{}`, `{"a":[1,{"b":2}]}`, `{"a":[1,{"b":2}]}`, true},
		{"a list that is one value", `{"f:a":{}}`, `{"a":[{"b":2,"c":3}]}`, `{"a":[{"b":2}]}`, false},
		{"an item with defaults", `{"f:a":{"k:{\"n\":1}":{".":{},"f:n":{}}}}`, `{"a":[{"n":0},{"n":1,"c":3}]}`, `{"a":[{"n":1}]}`, true},
		{"an item that differs", `{"f:a":{"k:{\"n\":1}":{".":{},"f:n":{}}}}`, `{"a":[{"n":1,"c":3}]}`, `{"a":[{"n":1,"c":4}]}`, false},
		{"a set with more", `{"f:a":{"v:\"x\"":{}}}`, `{"a":["y","x"]}`, `{"a":["x"]}`, true},
		{"a set without it", `{"f:a":{"v:\"x\"":{}}}`, `{"a":["y"]}`, `{"a":["x"]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := set(c.fields).Agrees(decodeJSON(t, c.live), decodeJSON(t, c.desired)); got != c.want {
				t.Errorf("Agrees = %v", got)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"one of several", `{"f:spec":{"f:replicas":{},"f:x":{}}}`, `{"f:spec":{"f:x":{}}}`},
		{"the only one", `{"f:spec":{"f:replicas":{}},"f:y":{}}`, `{"f:y":{}}`},
		{"with all below it", `{"f:spec":{"f:replicas":{"f:deep":{}},"f:x":{}}}`, `{"f:spec":{"f:x":{}}}`},
		{"none", `{"f:spec":{"f:x":{}}}`, `{"f:spec":{"f:x":{}}}`},
		{"a parent that is owned as a whole", `{"f:spec":{}}`, `{"f:spec":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := set(c.fields).Without([][]string{{"spec", "replicas"}}); !got.Equals(set(c.want)) {
				t.Errorf("got %s", got.fields)
			}
		})
	}
}

// TestSetHasTheOwner compares the set of an entry, which shares what was decoded for another
// owner, with one that is decoded by itself.
func TestSetHasTheOwner(t *testing.T) {
	const first, second = "6b3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90", "1a3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a91"
	for name, c := range map[string]struct {
		shared bool // with other owners
		text   string
	}{
		"a reference":                {true, `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"UID\"}":{}}},"f:spec":{"f:b":{}}}`},
		"a reference with fields":    {true, `{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"UID\"}":{".":{},"f:name":{},"f:uid":{}}}}}`},
		"one of two references":      {true, `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"UID\"}":{},"k:{\"uid\":\"3a3f8f5e-0c1d-4b7e-9a55-2f0c8d1e7a90\"}":{"f:name":{}}}}}`},
		"a list of its own with UID": {false, `{"f:spec":{"f:peers":{"k:{\"uid\":\"UID\"}":{".":{},"f:uid":{}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, uid := range []string{first, second, first} {
				e := NewEntry(strings.ReplaceAll(c.text, "UID", uid))
				if e.uid == (ownerUID{}) {
					t.Fatal("no UID is taken out of the entry")
				}
				if _, shared := (Entry{rest: e.rest}).recentSet().withOwner(e.uid); shared != c.shared {
					t.Errorf("the set is shared: %v, want %v", shared, c.shared)
				}
				if got, want := e.Set(), e.decode(); !got.Equals(want) {
					t.Errorf("with %s the set is\n%s\nwant\n%s", uid, got.fields, want.fields)
				}
			}
		})
	}
}
