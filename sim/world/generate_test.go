package world_test

import (
	"log/slog"
	"strings"
	"testing"

	"reconcel/internal/stories"
	"reconcel/sim/world"
)

func TestCredentials(t *testing.T) {
	log := &strings.Builder{}
	w, err := world.New(world.Options{
		Program: parsed(t, strings.ReplaceAll(stories.CredentialsRules, "NAMESPACE", "default")), Kinds: exampleKinds(t),
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	stage := &stories.Stage{
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
	}
	stage.Hidden(log.String(), stories.TellCredentials(stage))
}
