//go:build integration

package engine_test

import (
	"fmt"
	"testing"
	"time"

	"reconcel/test/stories"
)

func TestStoryOfGates(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	in := w.run(stories.GatesRules)
	stage := &stories.Stage{
		TB: t, Context: w.Context(), Client: w.Client, Namespace: w.Namespace,
		Eventually: func(what string, check func() error) {
			t.Helper()
			w.Eventually(what, check)
		},
	}
	stories.TellGates(stage, stories.Clock{
		Now: time.Now,
		Pass: func(until time.Time) {
			w.Eventually("a moment to come", func() error {
				if rest := time.Until(until); rest > 0 {
					return fmt.Errorf("%s to go", rest)
				}
				return nil
			})
		},
		Down: func(during func()) {
			in.stop()
			during()
			in = w.run(stories.GatesRules)
		},
	})
}
