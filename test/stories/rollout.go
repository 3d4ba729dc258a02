package stories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/engine/inventory"
)

// rolloutRules give each Foo a ConfigMap, which is ready when an annotation names its text.
// NAMESPACE stands for the namespace of the story.
const rolloutRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: rollout-NAMESPACE
  rollout: {HOW, onFailure: FAILURE}
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: part
    readyWhen: annotation(child, "example.com/ready").orValue("") == "TEXT"
    failWhen: annotation(child, "example.com/failed").orValue("") == "TEXT"
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}"}
      data: {text: TEXT}
`

func rolloutTo(text, failure string) string { return rolloutBy("maxUnavailable: 20%", text, failure) }

func rolloutBy(how, text, failure string) string {
	return strings.NewReplacer("HOW", how, "TEXT", text, "FAILURE", failure).Replace(rolloutRules)
}

// rolling is the ConfigMaps of the story.
type rolling struct{ *Stage }

// tellRollout tells how a change reaches ten Foos in waves of two.
func tellRollout(stage *Stage) {
	s := rolling{stage}
	s.Helper()
	for i := range 10 {
		s.create(fmt.Sprintf("foo-%d", i))
	}
	s.have("all to have a ConfigMap", map[string]int{"one": 10})
	s.mark("ready", "one")
	s.ready("all to be ready")

	s.Reload(rolloutTo("two", "pause"))
	s.have("the first wave", map[string]int{"one": 8, "two": 2})
	first := s.with("two")
	s.Restart()
	s.have("a restart to stay in the first wave", map[string]int{"one": 8, "two": 2})
	if again := s.with("two"); !slices.Equal(again, first) {
		s.Errorf("the wave has %v, before the restart %v", again, first)
	}
	s.delete(s.with("one")[0])
	s.have("the others to be reconciled as they were", map[string]int{"one": 8, "two": 2})
	s.mark("ready", "one")
	s.mark("ready", "two")
	s.have("the second wave", map[string]int{"one": 6, "two": 4})

	s.set(inventory.Paused)
	s.mark("ready", "two")
	s.ready("those to be ready")
	s.Restart()
	s.have("a paused rollout not to go on", map[string]int{"one": 6, "two": 4})
	s.set(inventory.Progressing)
	s.have("a resumed one to go on", map[string]int{"one": 4, "two": 6})
	s.set(inventory.Undone)
	s.have("an undone one to go back", map[string]int{"one": 10})
	s.Restart()
	s.have("a restart not to begin it again", map[string]int{"one": 10})
	s.mark("ready", "one")
	s.ready("all to be ready as before")

	s.Reload(rolloutTo("three", "pause"))
	s.have("another change to begin again", map[string]int{"one": 8, "three": 2})
	reached := s.with("three")
	s.Reload(rolloutTo("four", "pause"))
	s.have("a change of the change", map[string]int{"one": 8, "four": 2})
	if again := s.with("four"); !slices.Equal(again, reached) {
		s.Errorf("the change of the change reaches %v, not %v", again, reached)
	}
	s.mark("failed", "four")
	s.state("a failure to stop it", inventory.Failed, "is stalled: rule ")
	s.Restart()
	s.have("it to keep what it has", map[string]int{"one": 8, "four": 2})

	s.Reload(rolloutTo("five", "revert"))
	s.have("a mended change to go on with the same", map[string]int{"one": 8, "five": 2})
	s.mark("failed", "five")
	s.have("the next failure to revert it", map[string]int{"one": 10})
	s.state("the failure to be recorded", inventory.Undone, "is stalled: rule ")

	s.mark("ready", "one")
	s.Reload(rolloutTo("six", "pause"))
	for n := 2; n <= 10; n += 2 {
		want := map[string]int{"one": 10 - n, "six": n}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		s.have(fmt.Sprintf("%d Foos to have the change", n), want)
		s.mark("ready", "six")
	}
	s.state("no rollout to be left", "", "")
	s.create("foo-10")
	s.have("a new Foo to have it, too", map[string]int{"six": 11})
	s.Restart()
	s.have("a restart to change nothing", map[string]int{"six": 11})
}

// tellFirst tells how a change reaches three of ten Foos first, in waves of two.
func tellFirst(stage *Stage) {
	s := rolling{stage}
	s.Helper()
	const first = "maxUnavailable: 20%, first: {matchLabels: {canary: yes}}"
	for i := range 10 {
		s.create(fmt.Sprintf("foo-%d", i))
	}
	canaries := []string{"foo-1", "foo-4", "foo-7"}
	for _, name := range canaries {
		s.label(name, "canary", "yes")
	}
	s.have("all to have a ConfigMap", map[string]int{"one": 10})
	s.mark("ready", "one")
	s.ready("all to be ready")

	s.Reload(rolloutBy(first, "two", "pause"))
	s.have("the first wave", map[string]int{"one": 8, "two": 2})
	if reached := s.with("two"); slices.ContainsFunc(reached, func(n string) bool { return !slices.Contains(canaries, n) }) {
		s.Errorf("the first wave has %v, the first ones are %v", reached, canaries)
	}
	s.mark("ready", "two")
	s.have("the last one of the first ones, without others", map[string]int{"one": 7, "two": 3})
	if reached := s.with("two"); !slices.Equal(reached, canaries) {
		s.Errorf("the second wave has %v, the first ones are %v", reached, canaries)
	}
	s.Restart()
	s.have("the others to wait for it, also after a restart", map[string]int{"one": 7, "two": 3})
	s.begins("canary=yes", 3)
	s.mark("ready", "two")
	s.have("the others to follow", map[string]int{"one": 5, "two": 5})
	reached := s.with("two")
	s.Reload(rolloutBy("maxUnavailable: 20%, first: {matchLabels: {other: yes}}", "two", "pause"))
	s.have("another selector to change nothing", map[string]int{"one": 5, "two": 5})
	s.Reload(rolloutBy(first, "three", "pause"))
	s.have("a change of the change to go to the same", map[string]int{"one": 5, "three": 5})
	if again := s.with("three"); !slices.Equal(again, reached) {
		s.Errorf("the change of the change reaches %v, not %v", again, reached)
	}
	for n := 5; n <= 10; n += 2 {
		s.mark("ready", "three")
		want := map[string]int{"one": max(10-n-2, 0), "three": min(n+2, 10)}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		s.have("the next wave", want)
	}
	s.mark("ready", "three")
	s.state("no rollout to be left", "", "")

	s.Reload(rolloutBy("first: {matchLabels: {canary: yes}}", "four", "revert"))
	s.have("all of the first ones at once", map[string]int{"three": 7, "four": 3})
	s.mark("failed", "four")
	s.have("a failure of the first ones to spare the others", map[string]int{"three": 10})
	s.state("the failure to be recorded", inventory.Undone, "is stalled")
	s.begins("canary=yes", 3)
	s.mark("ready", "three")
	s.Reload(rolloutBy("first: {matchLabels: {canary: yes}}", "five", "revert"))
	s.have("the mended change to begin with them", map[string]int{"three": 7, "five": 3})
	s.mark("ready", "five")
	s.have("all others to follow at once", map[string]int{"five": 10})
}

// label sets a label of a Foo.
func (s rolling) label(name, key, value string) {
	s.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
	if _, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Patch(s.Context, name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
}

// begins waits until the inventory says which Foos come first, and how many.
func (s rolling) begins(first string, n int) {
	s.Helper()
	s.Eventually("the rollout to tell which come first", func() error {
		recorded, err := s.installation().Recorded(s.Context)
		if err != nil {
			return err
		}
		if got := recorded.Rollouts[fooKind]; got.First != first || got.FirstResources != n || got.Resources != 10 {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}

func (s rolling) create(name string) {
	s.Helper()
	holding(s).create(name, 1)
}

func (s rolling) delete(name string) {
	s.Helper()
	holding(s).remove(name)
}

// texts returns the names of the Foos by the text of their ConfigMaps.
func (s rolling) texts() (map[string][]string, error) {
	list, err := s.resource("", "v1", "configmaps").List(s.Context,
		metav1.ListOptions{LabelSelector: "reconcel.dev/child=part"})
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for i := range list.Items {
		text, _, _ := unstructured.NestedString(list.Items[i].Object, "data", "text")
		all[text] = append(all[text], list.Items[i].GetName())
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all, nil
}

func (s rolling) with(text string) []string {
	s.Helper()
	all, err := s.texts()
	if err != nil {
		s.Fatal(err)
	}
	return all[text]
}

// have waits until so many Foos have each text. A rollout that then goes on is a mistake, which
// the next call finds.
func (s rolling) have(what string, want map[string]int) {
	s.Helper()
	s.Eventually(what, func() error {
		all, err := s.texts()
		if err != nil {
			return err
		}
		got := map[string]int{}
		for text, names := range all {
			got[text] = len(names)
		}
		if !maps.Equal(got, want) {
			return fmt.Errorf("they are %v, want %v", got, want)
		}
		return nil
	})
}

// mark sets an annotation of all ConfigMaps with a text.
func (s rolling) mark(annotation, text string) {
	s.Helper()
	for _, name := range s.with(text) {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/%s":%q}}}`, annotation, text)
		if _, err := s.resource("", "v1", "configmaps").Patch(s.Context, name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}
}

// ready waits until all ten Foos are Ready.
func (s rolling) ready(what string) {
	const want = 10
	s.Helper()
	s.Eventually(what, func() error {
		list, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").List(s.Context, metav1.ListOptions{})
		if err != nil {
			return err
		}
		n := 0
		for i := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions")
			for _, c := range conditions {
				if c, _ := c.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
					n++
				}
			}
		}
		if n != want {
			return fmt.Errorf("%d are Ready", n)
		}
		return nil
	})
}

const fooKind = "Foo.samplecontroller.k8s.io"

// set does what the subcommands of reconcel rollout do.
func (s rolling) set(state inventory.RolloutState) {
	s.Helper()
	if err := s.installation().SetRollout(s.Context, fooKind, state); err != nil {
		s.Fatal(err)
	}
}

// state waits until the rollout of the ten Foos has a state and a message; "" is no rollout.
func (s rolling) state(what string, want inventory.RolloutState, message string) {
	s.Helper()
	s.Eventually(what, func() error {
		recorded, err := s.installation().Recorded(s.Context)
		if err != nil {
			return err
		}
		got := recorded.Rollouts[fooKind]
		if got.State != want || !strings.Contains(got.Message, message) || want != "" && got.Resources != 10 {
			return fmt.Errorf("it is %+v", got)
		}
		return nil
	})
}
