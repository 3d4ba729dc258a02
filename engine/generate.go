package engine

import (
	"encoding/base64"
	"time"

	"reconcel/engine/credential"
	"reconcel/engine/watch"
	"reconcel/rules"
	"reconcel/rules/generate"
)

// Generated values are in the data of their Secret, and in the cache that shows it:
// nothing that is rendered, compared or remembered has them. reconcel applies the values
// that it owns again with each change, as it does with ignored fields, and makes those
// that the data lacks.

// generated returns the keys of a Secret whose values have to be made, and in how long
// the next one will be; 0: none.
func (p *pass) generated(d *rules.Desired, live *watch.Object) (due []string, in time.Duration) {
	if live == nil {
		return nil, 0
	}
	specs := d.Generated()
	now := p.engine.clock.Now()
	due, next := specs.Due(generatedState(live), now)
	if !next.IsZero() {
		in = next.Sub(now)
	}
	return due, in
}

func (p *pass) isDue(d *rules.Desired, live *watch.Object) bool {
	due, _ := p.generated(d, live)
	return len(due) > 0
}

// generatedState returns what a Secret has of its generated values.
func generatedState(live *watch.Object) generate.State {
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

// generate returns fields of a Secret for an apply: new values for the keys that need
// them, and for which request of a rotation. state is nil if the Secret does not exist.
func (p *pass) generate(d *rules.Desired, state *watch.Object) ([]rules.FieldValue, error) {
	specs := d.Generated()
	have, rotated := generate.State{Mine: func(string) bool { return true }}, ""
	if state != nil {
		have, rotated = generatedState(state), state.GetAnnotations()[rules.AnnotationRotated]
	}
	now := p.engine.clock.Now()
	due, _ := specs.Due(have, now)
	values, err := credential.Make(specs, due, have, now)
	if err != nil {
		return nil, &terminalError{string(rules.RuleError), 0, err}
	}
	fields := rules.GeneratedData(values)
	if have.Rotate {
		rotated = state.GetAnnotations()[rules.AnnotationRotate]
	}
	if rotated != "" {
		fields = append(fields, rules.FieldValue{Path: []string{"metadata", "annotations", rules.AnnotationRotated}, Value: rotated})
	}
	return fields, nil
}
