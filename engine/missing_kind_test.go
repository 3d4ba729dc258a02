package engine

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/discover"
)

func TestKindIsGoneAfterAWhile(t *testing.T) {
	gk := schema.GroupKind{Group: "example.com", Kind: "Foo"}
	missing, other := discover.NoKindError{GVK: gk.WithVersion("v1")}, errors.New("no route to host")
	began := time.Now()
	m := missingKinds{}
	for _, step := range []struct {
		after time.Duration
		err   error
		gone  bool
	}{
		{0, missing, false},
		{goneAfter - time.Second, missing, false},
		{goneAfter - time.Second, nil, false}, // It was missing for a moment only.
		{goneAfter, missing, false},
		{2*goneAfter - time.Second, missing, false},
		{2*goneAfter - time.Second, other, false},
		{2 * goneAfter, missing, false},
		{3 * goneAfter, missing, true},
	} {
		gone, err := m.judge(gk, step.err, began.Add(step.after))
		if gone != step.gone || (err == nil) != (gone || step.err == nil) {
			t.Errorf("after %s, %v: %v, %v", step.after, step.err, gone, err)
		}
	}
	if gone, err := (missingKinds)(nil).judge(gk, missing, began); !gone || err != nil {
		t.Errorf("without a map: %v, %v", gone, err)
	}
}
