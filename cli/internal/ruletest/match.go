package ruletest

import (
	"encoding/base64"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/managedfields"
	"reconcel/internal/yamltext"
	"reconcel/rules"
	"reconcel/rules/syntax"
)

// comparedFields returns the parts of a value that are compared with the wanted one: the
// wanted fields, and all items of lists, because an extra item is a difference.
func comparedFields(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for key, w := range want {
			if g, there := fields[key]; there && (w != nil || g != nil) {
				out[key] = comparedFields(w, g)
			}
		}
		return out
	case []any:
		list, ok := got.([]any)
		if !ok {
			return got
		}
		out := make([]any, len(list))
		for i := range list {
			out[i] = list[i]
			if i < len(want) {
				out[i] = comparedFields(want[i], list[i])
			}
		}
		return out
	}
	return asInteger(got)
}

// withoutNulls returns the wanted value without fields that are null, which must be
// absent.
func withoutNulls(want any) any {
	switch want := want.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, w := range want {
			if w != nil {
				out[key] = withoutNulls(w)
			}
		}
		return out
	case []any:
		out := make([]any, len(want))
		for i := range want {
			out[i] = withoutNulls(want[i])
		}
		return out
	}
	return asInteger(want)
}

// asInteger converts a float without a fraction to an integer, so that 1.0 equals 1.
func asInteger(value any) any {
	if f, ok := value.(float64); ok && f == float64(int64(f)) {
		return int64(f)
	}
	return value
}

// diffFields returns the diff, as YAML, of the wanted fields and a value, or "".
func diffFields(want, got any) string {
	return diffValues(withoutNulls(want), comparedFields(want, got))
}

func diffValues(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return diffTexts(asYAML(want), asYAML(got))
}

// diffTexts returns the unified diff of two texts.
func diffTexts(want, got string) string {
	var b strings.Builder
	_ = difflib.WriteUnifiedDiff(&b, difflib.UnifiedDiff{ // Writes to a Builder do not fail.
		A: slices.Collect(strings.Lines(want)), B: slices.Collect(strings.Lines(got)), FromFile: "want", ToFile: "got",
		Context: 3,
	})
	return b.String()
}

func asYAML(value any) string {
	text, err := yamltext.Marshal(value)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(text)
}

// dropMarks removes reconcel's labels, annotations and finalizers from an object, except the
// wanted ones.
func dropMarks(object, want map[string]any) {
	for _, field := range []string{"labels", "annotations"} {
		marks, _, _ := unstructured.NestedMap(object, "metadata", field)
		asked, _, _ := unstructured.NestedMap(want, "metadata", field)
		before := len(marks)
		maps.DeleteFunc(marks, func(key string, _ any) bool {
			_, wanted := asked[key]
			return syntax.IsOwn(key) && !wanted
		})
		switch {
		case len(marks) == before:
		case len(marks) == 0 && asked == nil:
			unstructured.RemoveNestedField(object, "metadata", field)
		default:
			_ = unstructured.SetNestedMap(object, marks, "metadata", field) // Cannot fail: the field is already a map.
		}
	}
	finalizers, found, _ := unstructured.NestedStringSlice(object, "metadata", "finalizers")
	asked, _, _ := unstructured.NestedStringSlice(want, "metadata", "finalizers")
	kept := slices.DeleteFunc(finalizers, func(name string) bool {
		return syntax.IsOwn(name) && !slices.Contains(asked, name)
	})
	switch {
	case len(kept) > 0:
		_ = unstructured.SetNestedStringSlice(object, kept, "metadata", "finalizers") // Cannot fail, as above.
	case found:
		unstructured.RemoveNestedField(object, "metadata", "finalizers")
	}
}

// diffRuled returns the diff, as YAML, of the wanted object and all fields
// that rules have set, or "".
func diffRuled(want map[string]any, got *unstructured.Unstructured) string {
	all := ruledFields(got)
	dropMarks(all, want)
	if _, asked, _ := unstructured.NestedFieldNoCopy(want, "metadata", "ownerReferences"); !asked {
		unstructured.RemoveNestedField(all, "metadata", "ownerReferences")
	}
	return diffValues(withoutNulls(want), all)
}

// ruledFields returns the fields of an object that the controller has set, without its
// status, plus its kind, namespace and name.
func ruledFields(u *unstructured.Unstructured) map[string]any {
	managers := managedfields.ManagersOf(u.Object)
	set := managers.Child().Set().Union(managers.Shares().Set())
	for _, patch := range managers.Patches() {
		set = set.Union(patch.Set())
	}
	out := &unstructured.Unstructured{Object: set.Select(u.Object).(map[string]any)}
	out.SetAPIVersion(u.GetAPIVersion())
	out.SetKind(u.GetKind())
	if u.GetName() != "" {
		out.SetName(u.GetName())
	}
	if u.GetNamespace() != "" {
		out.SetNamespace(u.GetNamespace())
	}
	return out.Object
}

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
