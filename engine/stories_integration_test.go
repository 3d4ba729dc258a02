//go:build integration

package engine_test

import (
	"testing"

	"reconcel/internal/e2e"
	"reconcel/internal/stories"
)

// stage returns a stage on a control plane, and a function that returns the logs of its
// controllers.
func stage(t *testing.T, rules string) (*stories.Stage, func() []*e2e.Log) {
	t.Helper()
	w := newWorld(t)
	w.CRD(w.fooCRD())
	in := w.run(rules)
	logs := []*e2e.Log{in.log}
	return &stories.Stage{
		TB: t, Context: w.Context(), Client: w.Client, Namespace: w.Namespace,
		Eventually: func(what string, check func() error) {
			t.Helper()
			w.Eventually(what, check)
		},
		Restart: func() {
			in.stop()
			in = w.run(rules)
			logs = append(logs, in.log)
		},
		Reload: func(text string) {
			t.Helper()
			w.reload(in, text)
		},
	}, func() []*e2e.Log { return logs }
}

func TestCredentials(t *testing.T) {
	s, logs := stage(t, stories.CredentialsRules)
	secret := stories.TellCredentials(s)
	for _, log := range logs() {
		s.Hidden(log.String(), secret)
	}
}

func TestStories(t *testing.T) {
	for _, story := range stories.All {
		t.Run(story.Name, func(t *testing.T) {
			s, _ := stage(t, story.Rules)
			story.Tell(s)
		})
	}
}
