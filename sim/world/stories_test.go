package world_test

import (
	"log/slog"
	"path"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim/world"
	"reconcel/test/stories"
)

// stage returns a stage in memory, its world, and the log of its controller.
func stage(t *testing.T, text string) (*stories.Stage, *world.World, *strings.Builder) {
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
		Installation: types.NamespacedName{Namespace: "kube-system", Name: world.Controller},
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
		Reload: func(text string) {
			t.Helper()
			if err := w.Reload(t.Context(), parsed(t, strings.ReplaceAll(text, "NAMESPACE", "default"))); err != nil {
				t.Fatal(err)
			}
		},
	}, w, log
}

func TestCredentials(t *testing.T) {
	s, _, log := stage(t, stories.CredentialsRules)
	secret := stories.TellCredentials(s)
	s.Hidden(log.String(), secret)
}

func TestStories(t *testing.T) {
	for _, story := range stories.All {
		t.Run(story.Name, func(t *testing.T) {
			s, w, log := stage(t, story.Rules)
			story.Tell(s)
			told(t, w, log.String())
		})
	}
}

// told checks that the log has a line for each change of an object that is no primary, unless there are very many.
func told(t *testing.T, w *world.World, log string) {
	t.Helper()
	if strings.Count(log, " child=") >= 100 {
		return // From here on, the log has sums.
	}
	count := map[string]int{}
	for line := range strings.Lines(log) {
		if _, rest, found := strings.Cut(line, " child="); found {
			child, _, _ := strings.Cut(rest, " ")
			count[child]++
		}
	}
	for _, write := range w.Writes() {
		if write.By != world.Controller || !write.Changed || write.Err != nil || write.Subresource != "" {
			continue
		}
		name := path.Join(write.Kind.Kind, write.Namespace, write.Name)
		if strings.Contains(log, " object="+name+" ") {
			continue
		}
		if count[name]--; count[name] < 0 {
			t.Errorf("%s of %s is not in the log", write.Verb, name)
		}
	}
}

// TestReloadOfADefinition changes a definition. Only the objects of rules that use it are
// written.
func TestReloadOfADefinition(t *testing.T) {
	text := strings.ReplaceAll(stories.DefinitionsRules, "NAMESPACE", "default")
	w := load(t, text)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	for _, change := range []struct{ old, new, want string }{
		{"'one'", "'uno'", "apply example-foo-one"},
		{"'large' : 'small'", "'large' : 'tiny'", "apply example-foo-one"},
		{"'large'", "'big'", "apply example-foo-two"},
		{"'registry.example.com'", "'example.com'", "apply example-foo-one, apply example-foo-two"},
	} {
		text = strings.ReplaceAll(text, change.old, change.new)
		before := len(w.Writes())
		if err := w.Reload(t.Context(), parsed(t, text)); err != nil {
			t.Fatal(err)
		}
		settle(t, w)
		var got []string
		for _, write := range w.Writes()[before:] {
			got = append(got, write.Verb+" "+write.Name)
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != change.want {
			t.Errorf("%s: the reload writes %q, want %q", change.new, got, change.want)
		}
	}
}
