package world_test

import (
	"log/slog"
	"strings"
	"testing"

	"reconcel/internal/stories"
	"reconcel/sim/world"
)

// stage returns a stage in memory, and the log of its controller.
func stage(t *testing.T, text string) (*stories.Stage, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	w, err := world.New(world.Options{
		Program: parsed(t, strings.ReplaceAll(text, "NAMESPACE", "default")), Kinds: exampleKinds(t),
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &stories.Stage{
		TB: t, Context: t.Context(), Client: w.Cluster().Client("someone"), Namespace: "default",
		Eventually: func(what string, check func() error) {
			t.Helper()
			settle(t, w)
			if err := check(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		},
		Restart: func() {
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	}, log
}

func TestCredentials(t *testing.T) {
	s, log := stage(t, stories.CredentialsRules)
	secret := stories.TellCredentials(s)
	s.Hidden(log.String(), secret)
}

func TestLookups(t *testing.T) {
	s, _ := stage(t, stories.LookupRules)
	stories.TellLookups(s)
}

func TestSequence(t *testing.T) {
	s, _ := stage(t, stories.SequenceRules)
	stories.TellSequence(s)
}

func TestSettings(t *testing.T) {
	s, _ := stage(t, stories.SettingsRules)
	stories.TellSettings(s)
}

func TestConditionsOfElementsFollowTheirList(t *testing.T) {
	s, _ := stage(t, stories.ConditionRules)
	stories.TellConditions(s)
}

func TestLarge(t *testing.T) {
	s, _ := stage(t, stories.LargeRules)
	stories.TellLarge(s)
}
