package plan

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"

	"reconcel/engine/discover"
)

func TestKindIsGoneAfterAWhile(t *testing.T) {
	gk := schema.GroupKind{Group: "example.com", Kind: "Foo"}
	missing, other := discover.NoKindError{GVK: gk.WithVersion("v1")}, errors.New("no route to host")
	now := testclock.NewFakePassiveClock(time.Now())
	judge := JudgeByTime(now)
	for i, step := range []struct {
		times int
		every time.Duration
		err   error
		gone  bool
	}{
		{5, time.Minute, missing, false},
		{1, time.Minute, nil, false}, // It was missing for a moment only.
		{5, time.Minute, missing, false},
		{1, time.Minute, other, false},
		{5, time.Minute, missing, false},
		{1, goneAfter, missing, false}, // Nobody searched in between.
		{4, time.Minute, missing, false},
		{2, time.Minute, missing, true},
	} {
		for range step.times {
			now.SetTime(now.Now().Add(step.every))
			gone, err := judge(t.Context(), gk, step.err)
			if gone != step.gone || (err == nil) != (gone || step.err == nil) {
				t.Errorf("step %d: %v, %v", i, gone, err)
			}
		}
	}
}
