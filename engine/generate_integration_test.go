//go:build integration

package engine_test

import (
	"testing"

	"reconcel/internal/e2e"
	"reconcel/internal/stories"
)

func TestCredentials(t *testing.T) {
	w := newWorld(t)
	w.CRD(w.fooCRD())
	in := w.run(stories.CredentialsRules)
	logs := []*e2e.Log{in.log}
	stage := &stories.Stage{
		TB: t, Context: w.Context(), Client: w.Client, Namespace: w.Namespace,
		Eventually: func(what string, check func() error) {
			t.Helper()
			w.Eventually(what, check)
		},
		Restart: func() {
			in.stop()
			in = w.run(stories.CredentialsRules)
			logs = append(logs, in.log)
		},
	}
	secret := stories.TellCredentials(stage)
	for _, log := range logs {
		stage.Hidden(log.String(), secret)
	}
}
