package decide

import (
	"encoding/base64"

	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/generate"
)

// GeneratedState returns what a Secret has of its generated values.
func GeneratedState(live *watch.Object) generate.State {
	state := generate.State{Data: map[string][]byte{}, Rotate: rotates(live)}
	owned := live.Fields().Set()
	state.Mine = func(key string) bool { return owned.Has("data", key) }
	data, _ := live.Content()["data"].(map[string]any)
	for key := range data {
		text, _ := data[key].(string)
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			state.Data[key] = value
		}
	}
	return state
}

// rotates reports whether the annotation that asks for new values has changed since
// they were made.
func rotates(live *watch.Object) bool {
	asked := live.GetAnnotations()[rules.AnnotationRotate]
	return asked != "" && asked != live.GetAnnotations()[rules.AnnotationRotated]
}
