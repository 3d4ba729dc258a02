package rules

import (
	"encoding/json"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"reconcel/rules/expr"
)

// isStable reports whether the patch, which begins in the buffer, makes the same again of the fields that are computed
// from themselves, once they are written. Otherwise it records why the patch is not written.
func (r *run) isStable(own []*patchedField, start int) bool {
	first, err := decodeMap(r.buf[start:])
	if err != nil || reflect.DeepEqual(Merged(r.in.Self, first), r.in.Self) {
		return err == nil // Nothing is to be written.
	}
	again, res := r.patchOf(first)
	if again == nil && res.err == nil {
		return true // It waits then, and writes nothing.
	}
	for _, f := range own {
		was, _, _ := unstructured.NestedFieldNoCopy(first, f.keys...)
		is, written, _ := unstructured.NestedFieldNoCopy(again, f.keys...)
		text := changesEachTime
		switch {
		case res.err != nil:
			text = "is computed from itself, and fails once it is written: " + res.err.Message
		case !written || reflect.DeepEqual(was, is): // A field that is not written stays.
			continue
		case !r.repeats(first):
			r.result.PatchWaits = []string{"what " + f.where + " reads, which changes"} // Its event enqueues the primary.
			return false
		}
		r.result.PatchErr = r.settling.failure("", f.where, &expr.Error{Pos: f.pos, Message: text})
		return false
	}
	return true
}

// changesEachTime says of a field that is computed from itself that its expression does not keep its own result.
const changesEachTime = "is computed from itself, and changes each time; " +
	"write an expression that keeps its own result, such as x in list ? list : list + [x]"

// Unstable says of a field of the patch that it changes each time because of what the API server makes of it.
func Unstable(keys []string) string {
	where := "patch"
	for _, key := range keys {
		where = expr.Join(where, key)
	}
	return where + ": the API server changes what is written: it " + changesEachTime
}

// patchOf returns the patch of the primary as it would be after a write, or nil if it fails or waits.
func (r *run) patchOf(written map[string]any) (patch map[string]any, res result) {
	state, lets, lookups, start := r.runState, r.lets, r.lookups, len(r.buf)
	r.in.Trace, r.in.Coverage = nil, nil
	r.lets, r.lookups = make([]letValue, len(lets)), make([]letValue, len(lookups))
	r.in.Self = Merged(r.in.Self, written)
	r.in.Self = r.liveObjects.object(r.rule.GVK, r.in.Self)
	if _, res = r.appendPatch(); res.ok() {
		patch, _ = decodeMap(r.buf[start:])
	}
	buf := r.buf[:start]
	r.runState = state
	r.buf, r.lets, r.lookups = buf, lets, lookups
	return patch, res
}

// repeats reports whether the patch is still the same for the primary as it is: a lookup may have changed.
func (r *run) repeats(patch map[string]any) bool {
	now, res := r.patchOf(nil)
	return res.ok() && reflect.DeepEqual(now, patch)
}

func decodeMap(text []byte) (out map[string]any, err error) {
	return out, utiljson.Unmarshal(text, &out)
}

// Merged returns an object after a merge patch without nulls. It shares what stays with the object.
func Merged(object, patch map[string]any) map[string]any {
	if len(patch) == 0 && object != nil {
		return object
	}
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	for key, v := range patch {
		inner, isMap := v.(map[string]any)
		if isMap {
			old, _ := out[key].(map[string]any)
			v = Merged(old, inner)
		}
		out[key] = v
	}
	return out
}

// Split returns the fields of Patch that are applied, and those that are computed from themselves.
func (res *RuleResult) Split() (applied []byte, own map[string]any, err error) {
	if len(res.OwnFields) == 0 || len(res.Patch) == 0 {
		return res.Patch, nil, nil
	}
	rest, err := decodeMap(res.Patch)
	if err != nil {
		return nil, nil, err
	}
	own = map[string]any{}
	for _, keys := range res.OwnFields {
		if v, found, _ := unstructured.NestedFieldNoCopy(rest, keys...); found {
			err = unstructured.SetNestedField(own, v, keys...)
			removeField(rest, keys)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if len(rest) > 0 {
		applied, err = json.Marshal(rest)
	}
	return applied, own, err
}

// removeField removes a field, and the maps that it leaves empty.
func removeField(m map[string]any, keys []string) {
	if inner, isMap := m[keys[0]].(map[string]any); isMap && len(keys) > 1 {
		if removeField(inner, keys[1:]); len(inner) > 0 {
			return
		}
	}
	delete(m, keys[0])
}
