//go:build integration

package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/access"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
	"reconcel/test/soak"
)

// fighting returns the rules of one of two installations that disagree about a child and
// a status.
func fighting(name string) string {
	return fmt.Sprintf(`
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: %[1]s-NAMESPACE
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget, namespaces: [NAMESPACE]}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}"}
      data: {owner: %[1]s, same: value}
  status:
    %[1]s: yes
`, name)
}

// TestSlowingDown runs the tests of what becomes slower while others undo it. They mostly wait, and limit times: they run
// side by side, and alone otherwise.
func TestSlowingDown(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"two installations fight":             testTwoInstallationsFight,
		"a child that is always deleted":      testChildThatIsAlwaysDeleted,
		"a child that is always changed":      testConflictLoopIsSlowedDown,
		"a patch that is always changed":      testPatchConflictLoopIsSlowedDown,
		"finished Pods are replaced and kept": testFinishedPodsAreReplacedAndKept,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// testTwoInstallationsFight has two installations whose rules disagree about the children
// of the same resources: 50 with RECONCEL_SOAK=1. They do not overload the API server,
// and both report the other installation and the fields. When one stops, the other one
// wins within a minute.
func testTwoInstallationsFight(t *testing.T) {
	w := newWorldAlone(t)
	w.CRD(widgetCRD)
	resources := 20
	if soak.Enabled() {
		resources = 50
	}
	for i := range resources {
		w.Create(widget(fmt.Sprintf("w%02d", i), "x: y"))
	}
	first := w.runWith(access.Options{Name: "first"}, fighting("one"))
	w.Eventually("all children to be there", func() error {
		for i := range resources {
			if w.Get(configs, fmt.Sprintf("w%02d", i)) == nil {
				return fmt.Errorf("w%02d is not", i)
			}
		}
		return nil
	})
	w.settles()

	began := time.Now()
	second := w.runWith(access.Options{Name: "second"}, fighting("two"))
	w.within(30*time.Second, "both to say Contested of all", func() error {
		for in, other := range map[*instance]string{first: "second", second: "first"} {
			for i := range resources {
				line := fmt.Sprintf("object=Widget/%s/w%02d", w.Namespace, i)
				if !in.says("reason=Contested", line, fmt.Sprintf(`reconcel \"%s/%s\" changed data.owner`, w.Namespace, other)) {
					return fmt.Errorf("nothing about w%02d and %s", i, other)
				}
			}
		}
		return nil
	})
	w.Rest(time.Until(began.Add(time.Minute)))
	w.wrote(began, time.Now(), 30)
	if soak.Enabled() {
		later := time.Now()
		w.Rest(5 * time.Minute)
		w.wrote(later, time.Now(), 2*6)
	}

	second.stop()
	w.within(time.Minute, "the first to have won", func() error {
		for i := range resources {
			name := fmt.Sprintf("w%02d", i)
			if !first.says(`msg="resource recovered"`, fmt.Sprintf("object=Widget/%s/%s", w.Namespace, name), "previous=Contested") {
				return fmt.Errorf("%s has not recovered", name)
			}
		}
		return nil
	})
	for i := range resources {
		name := fmt.Sprintf("w%02d", i)
		w.Has(configs, name, map[string]any{"data.owner": "one"})
		w.Is(widgets, name, "Ready", "True")
	}
}

// within is Eventually with its own time limit, of a machine that does nothing else.
func (w *world) within(d time.Duration, what string, check func() error) {
	w.Helper()
	if took := w.Eventually(what, check); took > d {
		w.Errorf("%s took %s, want at most %s", what, took.Round(time.Second), d)
	}
}

// says reports whether a line of the log has all texts.
func (in *instance) says(texts ...string) bool {
	for line := range strings.Lines(in.log.String()) {
		all := true
		for _, text := range texts {
			all = all && strings.Contains(line, text)
		}
		if all {
			return true
		}
	}
	return false
}

// wrote checks that all installations together write each child at most this many times
// in a period, and each status at most half as often again. A status also reports the
// start of the conflict loop.
func (w *world) wrote(from, to time.Time, most int) {
	w.Helper()
	counts := map[string]int{}
	for _, r := range w.Writes(from) {
		if r.Received.Before(to) && r.Resource != "events" {
			counts[r.Resource+"/"+r.Subresource+" "+r.Name]++
		}
	}
	highest := 0
	for what, n := range counts {
		bound := most
		if strings.Contains(what, "/status ") {
			bound += most / 2
		}
		if n > bound {
			w.Errorf("%d writes of %s in %s, want at most %d", n, what, to.Sub(from).Round(time.Second), bound)
		}
		highest = max(highest, n)
	}
	w.Logf("at most %d writes of one object in %s: %v", highest, to.Sub(from).Round(time.Second), devcluster.Tally(w.Writes(from)))
}

// TestMarkConflictLoop has a writer that removes the finalizer of a primary that needs it, adds one that the primary does
// not need, or removes the annotation that remembers what is done, each time reconcel restores it. The first repairs are
// immediate, and later ones delayed.
func TestMarkConflictLoop(t *testing.T) {
	for name, test := range map[string]struct{ body, mark string }{
		"removed":    {`{"metadata":{"finalizers":null}}`, "finalizer reconcel.dev/"},
		"added":      {`{"metadata":{"finalizers":["reconcel.dev/widget-NAMESPACE"]}}`, "finalizer reconcel.dev/"},
		"remembered": {`{"metadata":{"annotations":{"done.reconcel.dev/widget-NAMESPACE":null}}}`, "annotation done.reconcel.dev/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			source := widgetRules("", configMapChild("a", "${self.metadata.name}-a"))
			switch name {
			case "removed":
				source, _ = w.acrossScopes("")
			case "remembered":
				source = widgetRules("", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "    template", "    onChange: once\n    template", 1))
			}
			w.run(source)
			w.Create(widget("one", "value: first"))
			w.says(widgets, "one", "Ready", "True", "")
			marks := func(u *unstructured.Unstructured) string {
				return fmt.Sprint(u.GetFinalizers(), u.GetAnnotations()[w.Fill("done.reconcel.dev/widget-NAMESPACE")])
			}
			since := time.Now()
			contested := errors.New("it is not contested")
			for attack := 0; contested != nil && attack < 100; attack++ {
				before := marks(w.Patch(widgets, "one", w.Fill(test.body)))
				w.Eventually("reconcel to restore the "+test.mark+", or to say that it waits", func() error {
					now := w.Get(widgets, "one")
					if contested = e2e.Condition(now, "Ready", "False"); contested != nil && marks(now) == before {
						return contested
					}
					return nil
				})
			}
			w.saysOf(widgets, "Ready", "Contested", "another writer changed the "+test.mark+"widget-"+w.Namespace)
			w.told("Widget", "one", "Contested")
			w.says(widgets, "one", "Ready", "True", "")
			writes := w.Writes(since)
			if edits := slices.DeleteFunc(writes, func(r devcluster.Request) bool { return r.Resource != "widgets" || r.Subresource != "" }); len(edits) > 20 {
				t.Errorf("reconcel edited the primary %d times", len(edits))
			}
		})
	}
}
