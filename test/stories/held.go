package stories

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/inventory"
)

// heldRules give each Foo as many ConfigMaps as it wants, at most MOST. NAMESPACE stands for
// the namespace of the story.
const heldRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: held-NAMESPACE
  onRuleRemoval: delete
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: parts
    forEach: {n: 'lists.range(self.spec.replicas > MOST ? MOST : self.spec.replicas)'}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${n}"}
      data: {revision: TEXT}
`

func heldWith(most int, text string) string {
	return strings.NewReplacer("MOST", fmt.Sprint(most), "TEXT", text).Replace(heldRules)
}

// holding is the Foos and ConfigMaps of the story.
type holding struct{ *Stage }

// tellHeld tells how a change that would delete too many objects is held until a user
// approves just that change.
func tellHeld(stage *Stage) {
	s := holding{stage}
	s.Helper()
	for _, name := range []string{"a", "b"} {
		s.create(name, 10)
	}
	s.has("the ConfigMaps to be there", 20, "one")

	// 12 of 20 would be deleted, and the others would change.
	s.Reload(heldWith(4, "two"))
	first := s.held("12 of 20")
	s.has("nothing to be deleted", 20, "one")
	s.remove("a-9")
	s.has("the rule to be reconciled as it was", 20, "one")
	s.create("c", 2)
	s.has("a new Foo to get what the others have", 22, "one")
	s.Restart()
	s.has("a restart to change nothing", 22, "one")
	s.remove("b-9")
	s.has("a restarted controller to know the rule as it was", 22, "one")

	if err := s.installation().Approve(s.Context, "0123456789"); !errors.Is(err, inventory.ErrNotHeld) {
		s.Errorf("the approval of nothing: %v", err)
	}
	s.Restart()
	s.has("the approval of another change to do nothing", 22, "one")
	s.Reload(heldWith(3, "three"))
	second := s.held("14 of 22")
	if err := s.installation().Approve(s.Context, first); !errors.Is(err, inventory.ErrNotHeld) {
		s.Errorf("the approval of an earlier change: %v", err)
	}
	s.remove("a-8")
	s.has("the approval of an earlier change to do nothing", 22, "one")
	if first == second {
		s.Errorf("two changes have the hash %s", first)
	}
	s.approve(second)
	s.has("the approved change to take effect", 8, "three")
	s.free()
	s.Restart()
	s.has("it to remain", 8, "three")

	// A rule that is removed.
	s.create("d", 10)
	s.create("e", 10)
	s.Reload(heldWith(10, "four"))
	s.has("more to be created at once", 42, "four")
	s.Reload(rulesHead + strings.Replace(strings.TrimPrefix(heldWith(10, "five"), rulesHead), "name: held-",
		"name: other-", 1))
	s.has("a renamed rule to take its objects over", 42, "five")
	s.Reload(rulesHead + watchesFoos)
	third := s.held("delete 42")
	s.remove("e-9")
	s.has("the objects of a removed rule to stay as they are", 42, "five")
	s.Restart()
	s.remove("e-8")
	s.has("a restart to change nothing", 42, "five")
	s.approve(third)
	s.has("the objects to be deleted", 0, "")
}

// watchesFoos is a rule without children.
const watchesFoos = `- name: watches-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  status: {availableReplicas: 0}
`

func (s holding) create(name string, replicas int64) {
	s.Helper()
	_, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Create(s.Context,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"deploymentName": name, "replicas": replicas},
		}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

func (s holding) remove(name string) {
	s.Helper()
	if err := s.resource("", "v1", "configmaps").Delete(s.Context, name, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

// has waits until there are so many ConfigMaps, all with a text, and no other was seen.
func (s holding) has(what string, count int, text string) {
	s.Helper()
	s.Eventually(what, func() error {
		list, err := s.resource("", "v1", "configmaps").List(s.Context,
			metav1.ListOptions{LabelSelector: "reconcel.dev/child=parts"})
		if err != nil {
			return err
		}
		texts := map[string]int{}
		for i := range list.Items {
			revision, _, _ := unstructured.NestedString(list.Items[i].Object, "data", "revision")
			texts[revision]++
		}
		if texts[text] != count || len(list.Items) != count {
			return fmt.Errorf("there are %v", texts)
		}
		return nil
	})
}

var hashInMessage = regexp.MustCompile(`reconcel approve ([0-9a-f]+)`)

// held waits until the Foos have a condition that names the change, with these numbers.
func (s holding) held(numbers ...string) (hash string) {
	s.Helper()
	s.Eventually("a condition that the rule is held", func() error {
		message := s.condition("a")
		found := hashInMessage.FindStringSubmatch(message)
		if found == nil || slices.ContainsFunc(numbers, func(n string) bool { return !strings.Contains(message, n) }) {
			return fmt.Errorf("it is %q", message)
		}
		hash = found[1]
		return nil
	})
	return hash
}

func (s holding) free() {
	s.Helper()
	s.Eventually("no rule to be held", func() error {
		if message := s.condition("a"); message != "" {
			return fmt.Errorf("it is %q", message)
		}
		return nil
	})
}

// condition returns the message of a Foo's condition Held, or "".
func (s holding) condition(name string) string {
	s.Helper()
	u, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Get(s.Context, name, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range list {
		if c, _ := c.(map[string]any); c["type"] == "Held" {
			message, _ := c["message"].(string)
			return message
		}
	}
	return ""
}

// approve does what reconcel approve does.
func (s holding) approve(hash string) {
	s.Helper()
	if err := s.installation().Approve(s.Context, hash); err != nil {
		s.Fatal(err)
	}
}
