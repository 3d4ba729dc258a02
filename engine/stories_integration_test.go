//go:build integration

package engine_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/access"
	"reconcel/engine/leader"
	"reconcel/test/e2e"
	"reconcel/test/stories"
)

// stage returns a stage on a control plane, and a function that returns the logs of its
// controllers.
func stage(t *testing.T, rules string) (*stories.Stage, func() []*e2e.Log) {
	t.Helper()
	return stageWith(t, rules, func(w *world, before *instance, rules string) *instance {
		if before != nil {
			before.stop()
		}
		return w.run(rules)
	})
}

// stageWith is stage with a function that replaces a controller by another one.
func stageWith(t *testing.T, rules string, replace func(*world, *instance, string) *instance) (*stories.Stage, func() []*e2e.Log) {
	t.Helper()
	w := newWorld(t)
	w.CRD(w.fooCRD())
	in := replace(w, nil, rules)
	logs := []*e2e.Log{in.log}
	return &stories.Stage{
		TB: t, Context: w.Context(), Client: w.Client, Namespace: w.Namespace,
		Installation: types.NamespacedName{Namespace: w.Namespace, Name: "reconcel"},
		Eventually: func(what string, check func() error) {
			t.Helper()
			w.Eventually(what, check)
		},
		Restart: func() {
			in = replace(w, in, rules)
			logs = append(logs, in.log)
		},
		Reload: func(text string) {
			t.Helper()
			rules = text
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

// TestStoriesAcrossLeaders tells the stories of changed rules with a change of leader instead of
// each restart: the next leader stands by with the same rules before.
func TestStoriesAcrossLeaders(t *testing.T) {
	for _, story := range stories.All {
		if story.Name != "held" && story.Name != "rollout" {
			continue
		}
		t.Run(story.Name, func(t *testing.T) {
			leaders := 0
			s, _ := stageWith(t, story.Rules, func(w *world, before *instance, rules string) *instance {
				leaders++
				o := access.Options{Leadership: &leader.Options{Identity: fmt.Sprintf("leader-%d", leaders), Lost: func(error) {}}}
				next := w.startWith(o, rules)
				w.Eventually("it to be ready", next.Ready)
				if before != nil {
					before.stop()
				}
				w.Eventually("it to lead", func() error { return next.logged("msg=running") })
				return next
			})
			story.Tell(s)
			if leaders < 4 {
				t.Errorf("there were %d leaders", leaders)
			}
		})
	}
}
