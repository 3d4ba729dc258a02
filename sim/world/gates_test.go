package world_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/sim/world"
	"reconcel/test/stories"
)

const gateRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: gate
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  status: {availableReplicas: '${VALUE}'}
`

// gateWorld has a Foo, created at the beginning of 2030, and a rule with this value in its status.
func gateWorld(t *testing.T, value string) *world.World {
	t.Helper()
	w := load(t, strings.ReplaceAll(gateRules, "VALUE", value))
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	return w
}

// available returns the status field that the rules of these tests compute.
func available(w *world.World) string {
	o := w.Cluster().Find(fooKind, "default", "example-foo")
	status, _ := o.Object["status"].(map[string]any)
	return fmt.Sprint(status["availableReplicas"])
}

func advance(t *testing.T, w *world.World, d time.Duration) {
	t.Helper()
	if err := w.Advance(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

const dayGate = `elapsed(self.metadata.creationTimestamp, "24h") ? 2 : 1`

func TestGateOpensAtItsMoment(t *testing.T) {
	w := gateWorld(t, dayGate)
	advance(t, w, 24*time.Hour-3*time.Second)
	if got := available(w); got != "1" {
		t.Errorf("before the moment the value is %s", got)
	}
	advance(t, w, 3*time.Second)
	if got := available(w); got != "2" {
		t.Errorf("at the moment the value is %s", got)
	}
	before := len(w.Writes())
	advance(t, w, 100_000*time.Hour)
	if more := w.Writes()[before:]; len(more) > 0 {
		t.Errorf("written after the gate opened: %v", more)
	}
}

// TestGateOpensWhileNothingRuns stops the controller before the moment.
func TestGateOpensWhileNothingRuns(t *testing.T) {
	w := gateWorld(t, dayGate)
	w.Pass(25 * time.Hour)
	if got := available(w); got != "1" {
		t.Fatalf("nothing runs, and the value is %s", got)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := available(w); got != "2" {
		t.Errorf("after the restart the value is %s", got)
	}
}

// TestScheduleOpensEachTime counts one write for each night of a month.
func TestScheduleOpensEachTime(t *testing.T) {
	w := gateWorld(t, `cron("0 3 * * *", self.metadata.creationTimestamp).optMap(last, last.getDate()).orValue(0)`)
	if got := available(w); got != "0" {
		t.Errorf("before the first night the value is %s", got)
	}
	before := len(w.Writes())
	advance(t, w, 31*24*time.Hour)
	if got := available(w); got != "31" {
		t.Errorf("after the last night the value is %s", got)
	}
	if n := len(w.Writes()) - before; n != 31 {
		t.Errorf("%d writes in 31 nights", n)
	}
}

// reconciliations counts those in a log.
func reconciliations(log *strings.Builder) int { return strings.Count(log.String(), "msg=reconciled") }

// TestReconciliationsThatGatesAskFor counts how often a primary is reconciled: when its gates
// open, and once more for each write of its status.
func TestReconciliationsThatGatesAskFor(t *testing.T) {
	for _, c := range []struct {
		expression string
		opens      int
	}{
		{`elapsed(self.metadata.creationTimestamp, "90000h") ? 2 : 1`, 1},
		{`["20h", "10000h", "30h"].filter(d, elapsed(self.metadata.creationTimestamp, d)).size()`, 3},
		{`cron("0 0 1 1 *", self.metadata.creationTimestamp).optMap(t, t.getFullYear()).orValue(1)`, 11},
		{`self.spec.replicas > 9 && elapsed(self.metadata.creationTimestamp, "1h") ? 2 : 1`, 0},
	} {
		log := &strings.Builder{}
		w, err := world.New(world.Options{
			Program: parsed(t, strings.ReplaceAll(gateRules, "VALUE", c.expression)), Kinds: exampleKinds(t),
			Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		if err != nil {
			t.Fatal(err)
		}
		put(t, w, "../../examples/foo/foo.yaml")
		settle(t, w)
		log.Reset()
		advance(t, w, 100_000*time.Hour)
		if n := reconciliations(log); n != 2*c.opens {
			t.Errorf("%s: %d gates open, and there are %d reconciliations:\n%s", c.expression, c.opens, n, log)
		}
		if n := strings.Count(log.String(), `trigger="gate opened"`); n != c.opens {
			t.Errorf("%s: %d gates open, and %d reconciliations say so", c.expression, c.opens, n)
		}
	}
}

// TestGateOfTheSelection ends a resource's children when its time to live has elapsed, and
// begins those of another rule.
func TestGateOfTheSelection(t *testing.T) {
	w := load(t, `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: young
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, when: '!elapsed(self.metadata.creationTimestamp, "24h")'}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: young}}
- name: old
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, when: 'elapsed(self.metadata.creationTimestamp, "48h")'}
  children:
  - id: c
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: old}}
`)
	put(t, w, "../../examples/foo/foo.yaml")
	settle(t, w)
	names := func() (all []string) {
		for _, o := range w.Objects() {
			if o.GetKind() == "ConfigMap" {
				all = append(all, o.GetName())
			}
		}
		return all
	}
	for _, want := range []string{"[young]", "[]", "[old]"} {
		if got := fmt.Sprint(names()); got != want {
			t.Errorf("at %s there is %s, want %s", w.Now(), got, want)
		}
		advance(t, w, 24*time.Hour)
	}
}

// TestGatesWhileTheControllerIsPaused opens a gate while the annotation pauses a resource.
func TestGatesWhileTheControllerIsPaused(t *testing.T) {
	w := gateWorld(t, dayGate)
	annotate(t, w, `"true"`)
	advance(t, w, 25*time.Hour)
	if got := available(w); got != "1" {
		t.Errorf("paused, the value is %s", got)
	}
	annotate(t, w, "null")
	settle(t, w)
	if got := available(w); got != "2" {
		t.Errorf("resumed, the value is %s", got)
	}
}

// annotate sets the annotation that pauses the Foo, as a user does.
func annotate(t *testing.T, w *world.World, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"reconcel.dev/paused":%s}}}`, value)
	foos := w.Cluster().Client("someone").Resource(fooKind.WithVersion("v1alpha1").GroupVersion().WithResource("foos")).Namespace("default")
	if _, err := foos.Patch(t.Context(), "example-foo", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestStoryOfGates(t *testing.T) {
	w := load(t, strings.ReplaceAll(stories.GatesRules, "NAMESPACE", "default"))
	stage := &stories.Stage{
		TB: t, Context: t.Context(), Client: w.Cluster().Client("someone"), Namespace: "default",
		Eventually: func(what string, check func() error) {
			t.Helper()
			settle(t, w)
			if err := check(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		},
	}
	down := false
	stories.TellGates(stage, stories.Clock{
		Now: w.Now,
		Pass: func(until time.Time) {
			if d := until.Sub(w.Now()); down {
				w.Pass(d)
			} else {
				advance(t, w, d)
			}
		},
		Down: func(during func()) {
			down = true
			during()
			down = false
			if err := w.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}
