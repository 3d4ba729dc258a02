package engine

import (
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func value(t *testing.T, text string) any {
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
		{"a field that somebody took", `{"f:spec":{"f:b":{}}}`, `{"spec":{"a":1,"b":2}}`, false},
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
		{"a key with a colon", `{"f:labels":{"f:a:b":{}}}`, `{"labels":{"a:b":"x"}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := covers(tree(t, c.fields), value(t, c.desired)); got != c.want {
				t.Errorf("covers = %v", got)
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
			if got := exceeds(tree(t, c.fields), value(t, c.desired)); got != c.want {
				t.Errorf("exceeds = %v", got)
			}
		})
	}
}

func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1`, true}, {`1`, `1.0`, true}, {`1`, `"1"`, false}, {`null`, `null`, true},
		{`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {`[1,2]`, `[2,1]`, false},
		{`true`, `false`, false}, {`{}`, `[]`, false},
	} {
		if got := sameValue(value(t, c.a), value(t, c.b)); got != c.want {
			t.Errorf("sameValue(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func TestInventoryEntryRoundTrip(t *testing.T) {
	for _, text := range []string{"apps/v1/Deployment", "v1/ConfigMap"} {
		if got := kindText(parseKind(text)); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
	}
}
