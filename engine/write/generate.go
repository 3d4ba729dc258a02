package write

import (
	"time"

	"reconcel/engine/credential"
	"reconcel/engine/decide"
	"reconcel/engine/outcome"
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
func (a *Applier) generated(d *rules.Desired, live *watch.Object) (due []string, in time.Duration) {
	if live == nil {
		return nil, 0
	}
	specs := d.Generated()
	now := a.Clock.Now()
	due, next := specs.Due(decide.GeneratedState(live), now)
	if !next.IsZero() {
		in = next.Sub(now)
	}
	return due, in
}

func (a *Applier) isDue(d *rules.Desired, live *watch.Object) bool {
	due, _ := a.generated(d, live)
	return len(due) > 0
}

// generate returns fields of a Secret for an apply: new values for the keys that need
// them, and for which request of a rotation. state is nil if the Secret does not exist.
func (a *Applier) generate(d *rules.Desired, state *watch.Object) ([]rules.FieldValue, error) {
	specs := d.Generated()
	have, rotated := generate.State{Mine: func(string) bool { return true }}, ""
	if state != nil {
		have, rotated = decide.GeneratedState(state), state.GetAnnotations()[rules.AnnotationRotated]
	}
	now := a.Clock.Now()
	due, _ := specs.Due(have, now)
	values, err := credential.Make(specs, due, have, now)
	if err != nil {
		return nil, &outcome.TerminalError{Reason: string(rules.RuleError), Retry: 0, Err: err}
	}
	fields := rules.GeneratedData(values)
	if have.Rotate {
		rotated = state.GetAnnotations()[rules.AnnotationRotate]
	}
	if rotated != "" {
		fields = append(fields, rules.FieldValue{Path: []string{"metadata", "annotations", rules.AnnotationRotated},
			Value: rotated})
	}
	return fields, nil
}
