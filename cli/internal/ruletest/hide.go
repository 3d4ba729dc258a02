package ruletest

import (
	"encoding/base64"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/rules"
)

// Generated values differ in each run, and a report shows none. In what a case compares,
// rules.Generated stands for each of them, also in the objects that rules copy them to.

// hideGenerated returns objects without the values that the controller has generated.
func hideGenerated(program *rules.Program, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	var pairs []string
	for _, u := range objects {
		c := program.ChildOf(u.Object)
		if c == nil || !c.Generates() {
			continue
		}
		owned := managedfields.ChildEntry(u.Object).Set()
		for _, key := range c.GeneratedKeys() {
			encoded, _, _ := unstructured.NestedString(u.Object, "data", key)
			value, err := base64.StdEncoding.DecodeString(encoded)
			if err == nil && len(value) > 0 && owned.Has("data", key) {
				pairs = append(pairs, string(value), rules.Generated)
			}
		}
	}
	if len(pairs) == 0 {
		return objects
	}
	h := hider{strings.NewReplacer(pairs...)}
	hidden := make([]*unstructured.Unstructured, len(objects))
	for i, u := range objects {
		hidden[i] = &unstructured.Unstructured{Object: h.value(u.Object).(map[string]any)}
	}
	return hidden
}

type hider struct{ values *strings.Replacer }

func (h hider) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, entry := range v {
			out[key] = h.value(entry)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = h.value(entry)
		}
		return out
	case string:
		return h.text(v)
	}
	return v
}

// base64Text matches what may be base64 in a text, such as in the data of a Secret.
var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{8,}={0,2}`)

func (h hider) text(text string) string {
	return base64Text.ReplaceAllStringFunc(h.values.Replace(text), func(encoded string) string {
		plain, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return encoded
		}
		if shown := h.text(string(plain)); shown != string(plain) {
			return base64.StdEncoding.EncodeToString([]byte(shown))
		}
		return encoded
	})
}
