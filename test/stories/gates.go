package stories

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// GatesRules make a ConfigMap at the time that an annotation of a Foo names, and one for
// the last full minute. NAMESPACE stands for the namespace of the story.
const GatesRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: gates-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  children:
  - id: gate
    when: elapsed(annotation(self, "example.com/at"), "0s")
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: gate}
  - id: minute
    forEach: {time: '[?cron("* * * * *", self.metadata.creationTimestamp)]'}
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "minute-${int(time)}"}
`

// A Clock is the time of a stage.
type Clock struct {
	Now func() time.Time
	// Pass waits until a time.
	Pass func(until time.Time)
	// Down stops the controller during a call.
	Down func(during func())
}

// punctual is how late a gate may open. The times of objects are full seconds.
const punctual = 2 * time.Second

// TellGates tells how gates open at their moments, close, and open while nothing runs.
func TellGates(s *Stage, c Clock) {
	s.Helper()
	foos, configMaps := s.resource("samplecontroller.k8s.io", "v1alpha1", "foos"), s.resource("", "v1", "configmaps")
	moment := func(in time.Duration) time.Time { return c.Now().Add(in).Truncate(time.Second) }
	at := func(t time.Time) map[string]any {
		return map[string]any{"example.com/at": t.UTC().Format(time.RFC3339)}
	}
	// opens waits until a ConfigMap exists, which was created at its moment.
	opens := func(name string, moment time.Time) {
		s.Helper()
		s.Eventually(name+" to exist", func() error {
			u, err := configMaps.Get(s.Context, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if late := u.GetCreationTimestamp().Sub(moment); late < 0 || late > punctual {
				s.Errorf("%s opened %s after its moment", name, late)
			}
			return nil
		})
	}
	closed := func() {
		s.Helper()
		s.Eventually("the gate to close", func() error {
			_, err := configMaps.Get(s.Context, "gate", metav1.GetOptions{})
			if err == nil {
				return errors.New("the ConfigMap exists")
			}
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	sets := func(t time.Time) {
		s.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/at":%q}}}`, at(t)["example.com/at"])
		if _, err := foos.Patch(s.Context, "gated", types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "someone"}); err != nil {
			s.Fatal(err)
		}
	}

	first := moment(5 * time.Second)
	_, err := foos.Create(s.Context, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
		"metadata": map[string]any{"name": "gated", "annotations": at(first)},
		"spec":     map[string]any{"deploymentName": "gated", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	closed()
	c.Pass(first)
	opens("gate", first)
	second := moment(8 * time.Second)
	sets(second)
	closed()
	c.Pass(second)
	opens("gate", second)

	third := moment(15 * time.Second)
	sets(third)
	closed()
	var again time.Time
	c.Down(func() {
		c.Pass(third)
		again = moment(0)
	})
	s.Eventually("the gate that opened meanwhile", func() error {
		u, err := configMaps.Get(s.Context, "gate", metav1.GetOptions{})
		if err == nil && u.GetCreationTimestamp().Time.Before(again) {
			s.Errorf("the gate opened while nothing ran")
		}
		return err
	})

	full := c.Now().Truncate(time.Minute).Add(time.Minute)
	c.Pass(full)
	opens(fmt.Sprintf("minute-%d", full.Unix()), full)
}
