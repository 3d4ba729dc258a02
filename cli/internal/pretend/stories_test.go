package pretend_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/pretend"
	"reconcel/engine/shadow"
	"reconcel/internal/stories"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
)

func objects(t *testing.T, file string) (all []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "\n---") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}

// schemas are those of Kubernetes' own kinds and of all examples.
func schemas(t *testing.T) *schema.Set {
	t.Helper()
	files, err := filepath.Glob("../../../crds/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var crds []map[string]any
	for _, f := range files {
		crds = append(crds, objects(t, f)...)
	}
	set, err := schema.New(schema.Sources{CRDs: crds})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func program(t *testing.T, text string) *rules.Program {
	t.Helper()
	p, err := rules.Load([]source.File{{Name: "rules.yaml", Data: []byte(strings.ReplaceAll(text, "NAMESPACE", "default"))}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A scene is a cluster in memory with a controller that writes and two shadows.
type scene struct {
	*testing.T
	*world.World
	ledgers []*shadow.Ledger
}

// newScene starts with rules for the controller, and rules for the shadows. The seed decides who is
// faster each time.
func newScene(t *testing.T, live, beside string, seed uint64) *scene {
	t.Helper()
	return newSceneWith(t, live, beside, seed, 2)
}

func newSceneWith(t *testing.T, live, beside string, seed uint64, shadows int) *scene {
	t.Helper()
	set := schemas(t)
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	s := &scene{T: t}
	s.World, err = world.New(world.Options{Program: program(t, live), Kinds: kinds, Turn: random.IntN})
	if err != nil {
		t.Fatal(err)
	}
	for range shadows {
		schemas, ledger := pretend.NewSchemas(), shadow.NewLedger(s.Now())
		schemas.Set(set)
		if err := s.Shadow(t.Context(), program(t, beside), pretend.New(schemas, ledger)); err != nil {
			t.Fatal(err)
		}
		s.ledgers = append(s.ledgers, ledger)
	}
	return s
}

func (s *scene) settle() {
	s.Helper()
	if err := s.Settle(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// wrote counts what the controller wrote.
func (s *scene) wrote() map[string]int {
	count := map[string]int{}
	for _, w := range s.Writes() {
		if w.Err != nil || !w.Changed {
			continue
		}
		action := "configured"
		switch {
		case w.Verb == "delete":
			action = "deleted"
		case w.Created:
			action = "created"
		}
		count[strings.TrimSuffix(action+" "+w.Kind.Kind+"/"+w.Subresource, "/")]++
	}
	return count
}

// agreed counts the changes in which a shadow agreed.
func agreed(l *shadow.Ledger) map[string]int {
	count := map[string]int{}
	for _, line := range l.Report().Changes {
		if line.Agreed > 0 {
			count[string(line.Action)+" "+line.Kind] += line.Agreed
		}
	}
	return count
}

func (s *scene) stage() *stories.Stage {
	return &stories.Stage{
		TB: s.T, Context: s.Context(), Client: s.Cluster().Client("someone"), Namespace: "default",
		Installation: types.NamespacedName{Namespace: "kube-system", Name: world.Controller},
		Eventually: func(what string, check func() error) {
			s.Helper()
			s.settle()
			if err := check(); err != nil {
				s.Fatalf("%s: %v", what, err)
			}
		},
		Restart: func() {
			if err := s.Restart(s.Context()); err != nil {
				s.Fatal(err)
			}
		},
		Reload: func(text string) {
			s.Helper()
			if err := s.ReloadShadows(s.Context(), program(s.T, text)); err != nil {
				s.Fatal(err)
			}
			if err := s.Reload(s.Context(), program(s.T, text)); err != nil {
				s.Fatal(err)
			}
		},
	}
}

// approximate are the stories of what one event does not show for certain: objects that go with their rule,
// or that several primaries share. What waits for approval, or comes in waves, depends on what the
// inventory says when the shadow reads it.
var approximate = []string{"annotations", "several kinds", "bundle", "shared objects", "held", "rollout"}

// TestStories tells stories with two shadows, which are sometimes faster and sometimes slower than
// the controller. They count what the controller writes, want nothing in the end, and write nothing.
func TestStories(t *testing.T) {
	for _, story := range stories.All {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", story.Name, seed), func(t *testing.T) {
				s := newScene(t, story.Rules, story.Rules, seed)
				alone := len(s.alone(story))
				story.Tell(s.stage())
				s.settle()
				// How many states of a rollout a status shows depends on the order of work.
				if n := len(s.Writes()); n != alone && story.Name != "rollout" {
					t.Errorf("with shadows there are %d writes, without any %d", n, alone)
				}
				for i, l := range s.ledgers {
					if diff := cmp.Diff(s.wrote(), agreed(l)); diff != "" && !slices.Contains(approximate, story.Name) {
						t.Errorf("shadow %d (-written +agreed)\n%s", i, diff)
					}
					for _, line := range l.Report().Changes {
						// A shadow with the new rules before the controller does not know its rollout yet.
						if line.Outstanding > 0 || line.Withdrawn > 0 && story.Name != "rollout" {
							t.Errorf("shadow %d: %+v", i, line)
						}
					}
				}
			})
		}
	}
}

// alone returns the writes of the story without shadows.
func (s *scene) alone(story stories.Story) []sim.Write {
	s.Helper()
	without := newSceneWith(s.T, story.Rules, story.Rules, 0, 0)
	story.Tell(without.stage())
	without.settle()
	return without.Writes()
}
