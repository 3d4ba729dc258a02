package stories

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// SequenceRules give each Foo ConfigMaps, one after another. A ConfigMap is ready when an
// annotation names its revision. NAMESPACE stands for the namespace of the story.
const SequenceRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: sequence-NAMESPACE
  for:
    apiVersion: samplecontroller.k8s.io/v1alpha1
    kind: Foo
    namespaces: [NAMESPACE]
    when: self.spec.deploymentName != "off"
  children:
  - id: cats
    forEach: {n: lists.range(self.spec.replicas)}
    order: sequential
    readyWhen: annotation(child, "example.com/ready").orValue("") == self.spec.deploymentName
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "cat-${n}"}
      data: {revision: "${self.spec.deploymentName}"}
`

const held = "example.com/held"

// sequence is the ConfigMaps of the story.
type sequence struct{ *Stage }

// tellSequence tells how the objects of a child with order: sequential come, change and go one
// after another, whenever the controller restarts.
func tellSequence(stage *Stage) {
	s := sequence{stage}
	s.Helper()
	foos := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos")
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "cats"},
		"spec": map[string]any{"deploymentName": "one", "replicas": int64(3)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}

	// It grows, and a restart changes nothing.
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready: readyWhen is false`, "0:one")
	s.Restart()
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready: readyWhen is false`, "0:one")
	s.ready(0, "one")
	s.shows(`cats[2]: waits for cats[1] "cat-1" to be ready: readyWhen is false`, "0:one", "1:one")
	s.ready(1, "one")
	s.shows("2 of 3 ready", "0:one", "1:one", "2:one")
	s.ready(2, "one")
	s.rests("0:one", "1:one", "2:one")
	s.set(`{"spec":{"replicas":5}}`)
	s.shows(`cats[4]: waits for cats[3] "cat-3" to be ready: readyWhen is false`, "0:one", "1:one", "2:one", "3:one")
	s.ready(3, "one")
	s.shows("4 of 5 ready", "0:one", "1:one", "2:one", "3:one", "4:one")
	s.ready(4, "one")
	s.rests("0:one", "1:one", "2:one", "3:one", "4:one")

	// A missing object comes back when those before it are ready. Drift does not wait.
	s.ready(0, "not")
	s.shows("4 of 5 ready", "0:one", "1:one", "2:one", "3:one", "4:one")
	s.delete(1)
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready`, "0:one", "2:one", "3:one", "4:one")
	s.edit(3, `{"data":{"revision":"broken"}}`)
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready`, "0:one", "2:one", "3:one", "4:one")
	s.ready(0, "one")
	s.shows("4 of 5 ready", "0:one", "1:one", "2:one", "3:one", "4:one")
	s.ready(1, "one")
	s.rests("0:one", "1:one", "2:one", "3:one", "4:one")

	// A change goes from one to the next. Meanwhile the list shrinks: the last one goes first.
	s.set(`{"spec":{"deploymentName":"two"}}`)
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready: readyWhen is false`, "0:two", "1:one", "2:one", "3:one",
		"4:one")
	s.Restart()
	s.ready(0, "two")
	s.shows(`cats[2]: waits for cats[1] "cat-1" to be ready: readyWhen is false`, "0:two", "1:two", "2:one", "3:one",
		"4:one")
	s.hold(3)
	s.hold(4)
	s.set(`{"spec":{"replicas":2}}`)
	s.shows("waits for the deletion of ConfigMap/"+s.Namespace+"/cat-4, and then deletes 2 more", "0:two", "1:two",
		"2:one", "3:one", "4:going")
	s.Restart()
	s.release(4)
	s.shows("waits for the deletion of ConfigMap/"+s.Namespace+"/cat-3, and then deletes 1 more", "0:two", "1:two",
		"2:one", "3:going")
	s.release(3)
	s.shows("1 of 2 ready", "0:two", "1:two")
	s.ready(1, "two")
	s.rests("0:two", "1:two")

	// A deselected primary loses its objects in reverse, and so does a deleted one.
	s.hold(1)
	s.set(`{"spec":{"deploymentName":"off"}}`)
	s.has("0:two", "1:going")
	s.Restart()
	s.has("0:two", "1:going")
	s.release(1)
	s.has()
	s.set(`{"spec":{"deploymentName":"two"}}`)
	s.shows(`cats[1]: waits for cats[0] "cat-0" to be ready`, "0:two")
	s.ready(0, "two")
	s.has("0:two", "1:two")
	s.hold(1)
	foreground := metav1.DeletePropagationForeground
	if err := foos.Delete(s.Context, "cats", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		s.Fatal(err)
	}
	s.shows("waits for the deletion of ConfigMap/"+s.Namespace+"/cat-1", "0:two", "1:going")
	s.Restart()
	s.shows("waits for the deletion of ConfigMap/"+s.Namespace+"/cat-1", "0:two", "1:going")
	s.release(1)
	s.has()
	s.Eventually("the Foo to go", func() error {
		_, err := foos.Get(s.Context, "cats", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return cmp.Or(err, errors.New("it is there"))
	})
}

// objects returns what each ConfigMap of the story says: its number and revision.
func (s sequence) objects() ([]string, map[string]string, error) {
	list, err := s.resource("", "v1", "configmaps").List(s.Context,
		metav1.ListOptions{LabelSelector: "reconcel.dev/child=cats"})
	if err != nil {
		return nil, nil, err
	}
	var all []string
	versions := map[string]string{}
	for _, u := range list.Items {
		says, _, _ := unstructured.NestedString(u.Object, "data", "revision")
		if u.GetDeletionTimestamp() != nil {
			says = "going"
		}
		all = append(all, strings.TrimPrefix(u.GetName(), "cat-")+":"+says)
		versions[u.GetName()] = u.GetResourceVersion()
	}
	slices.Sort(all)
	return all, versions, nil
}

// has waits until there are exactly these objects.
func (s sequence) has(want ...string) {
	s.Helper()
	s.Eventually(fmt.Sprintf("the ConfigMaps %v", want), func() error {
		got, _, err := s.objects()
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("there are %v", got)
		}
		return err
	})
}

// shows waits until Ready is False with a message, and there are exactly these objects. More are a
// mistake, apart from those that the garbage collector has yet to remove.
func (s sequence) shows(message string, want ...string) {
	s.Helper()
	s.Eventually(fmt.Sprintf("the message %q and the ConfigMaps %v", message, want), func() error {
		if status, got := s.condition(); status != "False" ||
			!strings.Contains(strings.ReplaceAll(got, `child "cats"`, "cats"), message) {
			return fmt.Errorf("Ready is %s: %s", status, got)
		}
		got, _, err := s.objects()
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("there are %v", got)
		}
		stays := slices.DeleteFunc(slices.Clone(got), func(o string) bool {
			return strings.HasSuffix(o, ":going") && !slices.Contains(want, o)
		})
		if len(stays) > len(want) {
			s.Errorf("%q: there are %v, want %v", message, got, want)
		}
		return err
	})
}

// rests waits until Ready is True, and checks that a new controller writes no object.
func (s sequence) rests(want ...string) {
	s.Helper()
	s.Eventually("Ready to be True", func() error {
		if status, message := s.condition(); status != "True" {
			return fmt.Errorf("Ready is %s: %s", status, message)
		}
		return nil
	})
	s.has(want...)
	_, before, err := s.objects()
	if err != nil {
		s.Fatal(err)
	}
	s.Restart()
	s.mark()
	s.has(want...)
	if _, after, err := s.objects(); err != nil || !maps.Equal(before, after) {
		s.Errorf("a restart wrote objects: %v, before %v (%v)", after, before, err)
	}
}

// mark changes the primary in a way that its status shows, so that it has been reconciled.
func (s sequence) mark() {
	s.Helper()
	foos := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos")
	u, err := foos.Get(s.Context, "cats", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	replicas, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	s.set(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas+1))
	s.Eventually("the next object", func() error {
		if got, _, err := s.objects(); err != nil || len(got) != int(replicas)+1 {
			return errors.Join(err, fmt.Errorf("there are %v", got))
		}
		return nil
	})
	s.set(fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// condition returns the status and message of Ready for the current generation.
func (s sequence) condition() (status, message string) {
	s.Helper()
	u, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Get(s.Context, "cats", metav1.GetOptions{})
	if err != nil {
		return "", err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == "Ready" && c["observedGeneration"] == u.GetGeneration() {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return status, message
}

func (s sequence) set(patch string) {
	s.Helper()
	if _, err := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos").Patch(s.Context, "cats", types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
}

func (s sequence) edit(n int, patch string) {
	s.Helper()
	if _, err := s.resource("", "v1", "configmaps").Patch(s.Context, fmt.Sprintf("cat-%d", n), types.MergePatchType,
		[]byte(patch), metav1.PatchOptions{FieldManager: "someone"}); err != nil {
		s.Fatal(err)
	}
}

func (s sequence) ready(n int, revision string) {
	s.Helper()
	s.edit(n, fmt.Sprintf(`{"metadata":{"annotations":{"example.com/ready":%q}}}`, revision))
}

// hold keeps an object that is deleted until release.
func (s sequence) hold(n int) {
	s.Helper()
	s.edit(n, fmt.Sprintf(`{"metadata":{"finalizers":[%q]}}`, held))
}

func (s sequence) release(n int) {
	s.Helper()
	s.edit(n, `{"metadata":{"finalizers":null}}`)
}

func (s sequence) delete(n int) {
	s.Helper()
	if err := s.resource("", "v1", "configmaps").Delete(s.Context, fmt.Sprintf("cat-%d", n),
		metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}
