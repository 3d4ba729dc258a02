package stories

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/rules"
)

// SharedRules give each Foo a ConfigMap that others may share. It is named as the Foo says,
// and has the number of its replicas, unless that is 9. NAMESPACE stands for the namespace
// of the story.
const SharedRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: shared-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE], selector: {matchExpressions: [{key: off, operator: DoesNotExist}]}}
  children:
  - id: settings
    when: self.spec.replicas < 9
    ifExists: share
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.spec.deploymentName}"}
      data: {replicas: "${string(self.spec.replicas)}", kept: "yes"}
`

// A sharing is the story of Foos that share ConfigMaps.
type sharing struct{ *Stage }

func (s sharing) foo(name string, replicas int64) {
	s.Helper()
	_, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Create(s.Context,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"deploymentName": "common", "replicas": replicas},
		}}, metav1.CreateOptions{FieldManager: "someone"})
	if err != nil {
		s.Fatal(err)
	}
}

func (s sharing) change(name, patch string) {
	s.Helper()
	_, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Patch(s.Context, name, types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "someone"})
	if err != nil {
		s.Fatal(err)
	}
}

func (s sharing) remove(name string) {
	s.Helper()
	if err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Delete(s.Context, name,
		metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s sharing) config() (*unstructured.Unstructured, error) {
	return s.resource("", "v1", "configmaps").Get(s.Context, "common", metav1.GetOptions{})
}

// has waits until the ConfigMap has a number of replicas and these owners.
func (s sharing) has(what, replicas string, owners ...string) {
	s.Helper()
	s.Eventually(what, func() error {
		u, err := s.config()
		if err != nil {
			return err
		}
		var names []string
		for _, share := range rules.SharesOf(u.Object) {
			names = append(names, share.Owner.Name)
		}
		slices.Sort(names)
		got, _, _ := unstructured.NestedString(u.Object, "data", "replicas")
		if got != replicas || !slices.Equal(names, owners) || len(u.GetOwnerReferences()) > 0 {
			return fmt.Errorf("the ConfigMap has %s replicas and the owners %v: %v", got, names, u.Object)
		}
		return nil
	})
}

// ends waits until the ConfigMap, or a Foo, is gone.
func (s sharing) ends(what string, get func() (*unstructured.Unstructured, error)) {
	s.Helper()
	s.Eventually(what, func() error {
		u, err := get()
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("%s %s is still there", u.GetKind(), u.GetName())
	})
}

// says waits until a Foo is Ready or not, with a reason and a message that has these texts.
func (s sharing) says(what, foo, reason string, texts ...string) {
	s.Helper()
	s.Eventually(what, func() error {
		u, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Get(s.Context, foo, metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range list {
			c, _ := c.(map[string]any)
			message, _ := c["message"].(string)
			if c["type"] == "Ready" && c["reason"] == reason &&
				!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(message, text) }) {
				return nil
			}
		}
		return fmt.Errorf("the conditions of %s are %v", foo, list)
	})
}

// tellShared tells how Foos share a ConfigMap: it exists as long as one of them wants it, and
// stays as it is while they want it differently.
func tellShared(stage *Stage) {
	s := sharing{stage}
	s.Helper()
	gone := func(name string) func() (*unstructured.Unstructured, error) {
		return func() (*unstructured.Unstructured, error) {
			return s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Get(s.Context, name, metav1.GetOptions{})
		}
	}
	s.foo("a", 1)
	s.has("the first Foo to create the ConfigMap", "1", "a")
	u, err := s.config()
	if err != nil {
		s.Fatal(err)
	}
	uid := u.GetUID()
	s.foo("b", 1)
	s.foo("c", 1)
	s.has("the others to share it", "1", "a", "b", "c")
	s.says("all to be ready", "c", "Reconciled")

	s.foo("d", 7)
	s.has("another one to change nothing", "1", "a", "b", "c", "d")
	s.says("it to be told", "d", "SharedDifferently", "ConfigMap/"+s.Namespace+"/common", "Foo/"+s.Namespace+"/",
		"data.replicas")
	s.says("the others to be told", "a", "SharedDifferently", "Foo/"+s.Namespace+"/d")
	for _, name := range []string{"a", "b", "c"} {
		s.change(name, `{"spec":{"replicas":7}}`)
	}
	s.has("their agreement to be applied", "7", "a", "b", "c", "d")
	s.says("all to be ready again", "a", "Reconciled")
	s.says("all to be ready again", "d", "Reconciled")

	s.remove("a")
	s.ends("the one that created it to go", gone("a"))
	s.change("b", `{"spec":{"replicas":9}}`)
	s.has("those that remain to share it", "7", "c", "d")
	s.Restart()
	s.change("c", `{"metadata":{"labels":{"off":"yes"}}}`)
	s.has("the deselected one to leave", "7", "d")
	if u, err = s.config(); err != nil || u.GetUID() != uid {
		s.Errorf("the ConfigMap was created again: %v", err)
	}
	s.change("d", `{"spec":{"deploymentName":"other"}}`)
	s.ends("the last one to take it along", s.config)
	s.change("b", `{"spec":{"replicas":3}}`)
	s.has("a later one to create it again", "3", "b")

	s.foo("e", 3)
	s.has("one more to share it", "3", "b", "e")
	s.Reload(strings.ReplaceAll(SharedRules, `"yes"`, `"no"`))
	s.Eventually("a change of the rules to be applied", func() error {
		u, err := s.config()
		if err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(u.Object, "data", "kept"); got != "no" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
	s.says("all to be ready after it", "e", "Reconciled")
	for _, name := range []string{"b", "e", "c", "d"} {
		s.remove(name)
	}
	s.ends("all to take it along", s.config)
	for _, name := range []string{"b", "e", "c", "d"} {
		s.ends("the Foos to go", gone(name))
	}
}
