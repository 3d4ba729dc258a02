package change_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/rules"
	"reconcel/rules/schema"
	"reconcel/rules/source"
	"reconcel/sim"
	"reconcel/sim/world"
	"reconcel/test/stories"
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

// A scene is a cluster in memory with a controller that writes and a dry run beside it.
type scene struct {
	*testing.T
	*world.World
	dry *change.Unsent
}

// newScene starts with rules for the controller, and others for the dry run; "" stands for none. The seed decides who
// is faster each time.
func newScene(t *testing.T, live, beside string, seed uint64) *scene {
	t.Helper()
	set := schemas(t)
	kinds, err := sim.NewKinds(set)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	s := &scene{T: t, dry: change.NewUnsent()}
	s.World, err = world.New(world.Options{Program: program(t, live), Kinds: kinds, Turn: random.IntN})
	if err != nil {
		t.Fatal(err)
	}
	if beside != "" {
		s.dry.SetSchemas(set)
		if err := s.DryRun(t.Context(), program(t, beside), s.dry); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *scene) settle() {
	s.Helper()
	if err := s.Settle(s.Context()); err != nil {
		s.Fatal(err)
	}
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
			if err := s.ReloadDryRuns(s.Context(), program(s.T, text)); err != nil {
				s.Fatal(err)
			}
			if err := s.Reload(s.Context(), program(s.T, text)); err != nil {
				s.Fatal(err)
			}
		},
	}
}

// TestStories tells stories with a dry run, which is sometimes faster and sometimes slower than
// the controller. It writes nothing, and has nothing to write in the end.
func TestStories(t *testing.T) {
	for _, story := range stories.All {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", story.Name, seed), func(t *testing.T) {
				alone := len(newScene(t, story.Rules, "", 0).tell(story))
				s := newScene(t, story.Rules, story.Rules, seed)
				// How many states of a rollout a status shows depends on the order of work.
				if n := len(s.tell(story)); n != alone && story.Name != "rollout" {
					t.Errorf("with a dry run there are %d writes, without one %d", n, alone)
				}
				if left := s.dry.Lines(); len(left) > 0 {
					t.Errorf("it would still write %+v", left)
				}
			})
		}
	}
}

// tell returns the writes of a story.
func (s *scene) tell(story stories.Story) []sim.Write {
	s.Helper()
	story.Tell(s.stage())
	s.settle()
	return s.Writes()
}
