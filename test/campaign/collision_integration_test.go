//go:build integration

package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"reconcel/test/e2e"
)

// collisionRules render one child of the name that the primary names. Two rules can
// render the same one.
const collisionRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: RULE-box
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  allow:
    clusterScoped: [{group: faults.reconcel.dev, kind: Crate}]
    namespaces: ["*-far"]
  children:
  - id: config
    when: self.spec.?config.hasValue()
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.spec.config}"}, data: {value: ours}}
  - id: far
    when: self.spec.?far.hasValue()
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.spec.far}", namespace: "${self.metadata.namespace}-far"}, data: {value: ours}}
  - id: crate
    when: self.spec.?crate.hasValue()
    template: {apiVersion: faults.reconcel.dev/v1, kind: Crate, metadata: {name: "${self.spec.crate}"}, spec: {value: ours}}
- name: RULE-bin
  for: {apiVersion: faults.reconcel.dev/v1, kind: Bin, namespaces: ["RULE-*"]}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.spec.config}"}, data: {value: bin}}
`

// collisionCase is an object that has the name of a child.
type collisionCase struct {
	Name   string
	Spec   string // of the primary
	Holder string // the object
	By     string // another object whose child it is
	Says   string // what the condition says; by default, the name of the object

	in     *e2e.World
	holder *unstructured.Unstructured
}

func (c *collisionCase) String() string { return c.Name }

const heldConfig = `{apiVersion: v1, kind: ConfigMap, metadata: {name: held`

// collisionCases are the objects that may have the name of a child.
func collisionCases() []*collisionCase {
	const box = "config: held"
	return []*collisionCase{
		{Name: "without an owner", Spec: box, Holder: heldConfig + `}, data: {value: theirs}}`},
		{Name: "of another controller", Spec: box, By: `{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}`, Holder: heldConfig +
			`, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: UID, controller: true}]}}`},
		{Name: "with the labels of the child", Spec: box, Holder: heldConfig + `, labels: {reconcel.dev/rule: collisions-box, reconcel.dev/child: config}}}`},
		{Name: "with a forged owner", Spec: box, Holder: heldConfig + `, labels: {reconcel.dev/rule: collisions-box, reconcel.dev/child: config},
			annotations: {reconcel.dev/owner: "0b7e0a4c-7d5c-4a8e-9f57-000000000001/Box.faults.reconcel.dev/NAMESPACE/a"}}}`},
		{Name: "that is being deleted", Spec: box, Holder: heldConfig + `, finalizers: [example.com/hold]}}`, Says: "waits for the deletion"},
		{Name: "of a primary of another rule", Spec: box, By: `{apiVersion: faults.reconcel.dev/v1, kind: Bin, metadata: {name: bin}, spec: {config: held}}`},
		{Name: "in another namespace", Spec: "far: held", Holder: `{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: NAMESPACE-far}}`},
		{Name: "without a namespace", Spec: "crate: NAMESPACE", Holder: `{apiVersion: faults.reconcel.dev/v1, kind: Crate, metadata: {name: NAMESPACE}, spec: {value: theirs}}`},
	}
}

// collisions gives objects of others the names of children. They stay as they are, the
// primary names them, and it becomes ready soon after they are gone.
func (s *stage) collisions(t *testing.T) {
	const name = "collisions"
	w, cases := s.world.Within(t), collisionCases()
	control := s.newController(t, name, strings.ReplaceAll(collisionRules, "RULE", name), again)
	for _, c := range cases {
		c.in = w.Beside(w.CreateNamespace(name + "-"))
		if strings.Contains(c.Spec, "far") {
			w.Create("{apiVersion: v1, kind: Namespace, metadata: {name: " + c.in.Namespace + "-far}}")
			t.Cleanup(func() {
				_ = w.Resource(e2e.GVK("v1", "Namespace")).Delete(context.Background(), c.in.Namespace+"-far", metav1.DeleteOptions{})
			})
		}
		c.hold()
	}
	for _, c := range cases {
		c.in.Create("{apiVersion: faults.reconcel.dev/v1, kind: Box, metadata: {name: a}, spec: {" + c.Spec + "}}")
	}
	for _, c := range cases {
		c.reported()
	}
	e2e.Rest(t, 6*time.Second) // It tries again every 5 seconds.
	for _, c := range cases {
		for _, write := range control.writes(c.in.Namespace) {
			if write.Name == c.holder.GetName() && write.Resource != "boxes" && write.Code < 300 && c.By == "" {
				t.Errorf("%s: it wrote %s: %d", c, write, write.Code)
			}
		}
		if now := c.live(); now == nil || now.GetResourceVersion() != c.holder.GetResourceVersion() {
			t.Errorf("%s: it was changed: %v", c, now)
		}
		if n := len(c.in.Events("Box", "a")); n > 1 {
			t.Errorf("%s: %d Events: %v", c, n, c.in.EventReasons("Box", "a"))
		}
	}
	sideBySide(t, cases, func(ctx context.Context, c *collisionCase) error { return c.release(ctx) })
}

// hold creates the object.
func (c *collisionCase) hold() {
	uid := ""
	if c.By != "" {
		uid = string(c.in.Create(c.By).GetUID())
	}
	if c.Holder == "" {
		c.in.Has(e2e.ConfigMap, "held", nil)
		c.holder = c.in.Get(e2e.ConfigMap, "held")
		return
	}
	c.holder = e2e.Parse(c.in.T, strings.ReplaceAll(c.in.Fill(c.Holder), "UID", uid))[0]
	created, err := c.client().Create(c.in.Context(), c.holder, metav1.CreateOptions{FieldManager: e2e.FieldManager})
	if err != nil {
		c.in.Fatal(err)
	}
	if c.holder = created; len(c.holder.GetFinalizers()) > 0 {
		if err := c.client().Delete(c.in.Context(), c.holder.GetName(), metav1.DeleteOptions{}); err != nil {
			c.in.Fatal(err)
		}
		c.holder = c.live()
	}
}

func (c *collisionCase) client() dynamic.ResourceInterface {
	namespace := c.in.Namespace
	if c.holder.GetNamespace() != "" {
		namespace = c.holder.GetNamespace()
	}
	return c.in.ResourceIn(c.holder.GroupVersionKind(), namespace)
}

// live returns the object with this name, or nil.
func (c *collisionCase) live() *unstructured.Unstructured {
	u, err := c.client().Get(context.Background(), c.holder.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return u
}

// reported waits until the primary names the object.
func (c *collisionCase) reported() {
	c.in.Helper()
	c.in.Eventually(c.Name+": the primary to name it", func() error {
		u := c.in.Get(faultKinds["Box"], "a")
		if err := e2e.Condition(u, "Ready", "False"); err != nil {
			return err
		}
		text, err := json.Marshal(u.Object["status"])
		if err != nil {
			return err
		}
		want := c.Says
		if want == "" {
			want = strings.Replace(keyOf(c.holder).String(), " ", "/", 1)
		}
		if !strings.Contains(string(text), want) {
			return fmt.Errorf("it says %s, not %s", text, want)
		}
		return nil
	})
}

// release deletes the object. The child must follow within 10 seconds.
func (c *collisionCase) release(ctx context.Context) error {
	var err error
	switch {
	case len(c.holder.GetFinalizers()) > 0:
		_, err = c.client().Patch(ctx, c.holder.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), changeOptions)
	case c.Holder == "":
		err = c.in.ResourceIn(faultKinds["Bin"], c.in.Namespace).Delete(ctx, "bin", metav1.DeleteOptions{})
	default:
		err = c.client().Delete(ctx, c.holder.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		return err
	}
	began := time.Now()
	err = await(ctx, "the child", func() error {
		now := c.live()
		if now == nil || now.GetUID() == c.holder.GetUID() {
			return errors.New("it does not exist")
		}
		primary, err := c.in.ResourceIn(faultKinds["Box"], c.in.Namespace).Get(ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return e2e.Condition(primary, "Ready", "True")
	})
	if took := time.Since(began); err == nil && took > 10*time.Second && c.Holder != "" {
		err = fmt.Errorf("the primary was ready only %s after the object was gone", took)
	}
	return err
}
