package outcome

import (
	"errors"
	"testing"

	"reconcel/rules"
)

// TestErrorOutlivesItsRendering prints an error after the memory of its rendering serves
// another primary.
func TestErrorOutlivesItsRendering(t *testing.T) {
	rule := &rules.Rule{Name: "foo"}
	d := &rules.Desired{Child: &rules.Child{ID: "web", Rule: rule}}
	err := PositionOf(rule, d).Wrap(errors.New("no"))
	want := err.Error()
	*d = rules.Desired{Child: &rules.Child{ID: "other", Rule: rule}}
	if got := err.Error(); got != want {
		t.Errorf("error is %q, was %q", got, want)
	}
}
