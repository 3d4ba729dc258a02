package offline_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/offline"
	"reconcel/cli/internal/ruletest"
	"reconcel/cli/internal/testfiles"
	"reconcel/rules"
)

// TestRenderAgreesInEachState runs the tests of examples that change in steps. Each time the
// controller has nothing left to do, render must show the objects that exist, given what it
// can observe: a controller that starts now would write nothing.
func TestRenderAgreesInEachState(t *testing.T) {
	kinds, err := offline.ReadKinds(files.Reader{}, []string{root + "crds"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range underWay {
		t.Run(name, func(t *testing.T) {
			folder := root + "examples/" + name
			suite, err := testfiles.New(files.Reader{}, judge.Policy{}, testfiles.Project{}).Load(filepath.Join(folder, "tests.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex // Cases run side by side.
			states := 0
			results := ruletest.Run(t.Context(), []*ruletest.Suite{suite}, ruletest.Options{Place: func(s ruletest.Setting) (ruletest.Place, error) {
				place, err := ruletest.InMemory(s)
				return compared{place.(clocked), func(objects []*unstructured.Unstructured, now time.Time) error {
					mu.Lock()
					defer mu.Unlock()
					compared, err := example{program: s.Program, kinds: kinds, time: now}.agrees(t, objects)
					if compared {
						states++
					}
					return err
				}}, err
			}})
			for _, c := range results[0].Cases {
				for _, f := range c.Failures {
					t.Errorf("%s: %s: %s\n%s", f.Pos, c.Case.Name, f.String(), f.Diff)
				}
			}
			if states < 10 {
				t.Errorf("only %d states were compared", states)
			}
		})
	}
}

// clocked is a place in memory that tells its time.
type clocked interface {
	ruletest.Memory
	Now() time.Time
}

// compared is a place that checks its objects each time it settles.
type compared struct {
	clocked
	check func([]*unstructured.Unstructured, time.Time) error
}

// Settle implements ruletest.Place.
func (c compared) Settle(ctx context.Context) error {
	if err := c.clocked.Settle(ctx); err != nil {
		return err
	}
	all, err := c.Objects(ctx)
	if err != nil {
		return err
	}
	return c.check(all, c.Now())
}

// agrees returns an error if render shows other children than those that exist. It reports
// whether there was anything to compare.
func (e example) agrees(t *testing.T, objects []*unstructured.Unstructured) (compared bool, err error) {
	t.Helper()
	primaries := map[runtimeschema.GroupKind]bool{}
	for _, p := range e.program.Primaries() {
		primaries[p.GVK.GroupKind()] = true
	}
	live := map[string]*unstructured.Unstructured{}
	var given, observed []*files.Object
	for _, u := range objects {
		o := &files.Object{Unstructured: *u.DeepCopy(), File: "cluster"}
		if primaries[u.GroupVersionKind().GroupKind()] {
			if rules.Paused(u.Object) {
				return false, nil
			}
			given = append(given, o)
			continue
		}
		if c := e.program.ChildOf(u.Object); c != nil {
			live[name(u)] = u
			if c.Generates() {
				// Without labels, render takes the generated values for any others, and
				// shows what depends on them.
				o.Unstructured.SetLabels(nil)
			}
		}
		observed = append(observed, o)
	}
	shown, waiting, err := e.render(t, given, observed)
	if err != nil {
		return false, nil // The children of a resource that cannot be rendered stay as they are.
	}
	var wrong []string
	for id, object := range shown {
		switch u := live[id]; {
		case u == nil && !waiting[id]:
			wrong = append(wrong, fmt.Sprintf("render shows %s, which does not exist", id))
		case u != nil && !waiting[id]:
			unstructured.RemoveNestedField(object, "metadata", "generation") // How often it was changed.
			if field := differs("", object, u.Object); field != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s differs: render shows\n%v\nthere is\n%v", id, field, object, u.Object))
			}
		}
	}
	for id, u := range live {
		if shown[id] == nil && u.GetAnnotations()[rules.AnnotationOrphan] == "" {
			wrong = append(wrong, fmt.Sprintf("%s exists, and render does not show it", id))
		}
	}
	if len(wrong) == 0 {
		return len(live) > 0, nil
	}
	slices.Sort(wrong)
	return true, errors.New(strings.Join(wrong, "\n"))
}
