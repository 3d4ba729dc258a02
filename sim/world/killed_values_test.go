package world_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"reconcel/test/race"
)

// killedValuesRules generate values, and read them through a lookup that a child names.
const killedValuesRules = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: database
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${binding.data.settings}"}
  children:
  - id: credentials
    generate:
      password: {length: 24}
      hash: {bcrypt: password}
      dsn: {text: "db://${self.spec.deploymentName}:$(password)"}
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${self.metadata.name}"}
      stringData: {user: "${self.spec.deploymentName}"}
  - id: binding
    onChange: keep
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-binding"}
      data: {settings: one}
  - id: connection
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-connection"}
      data:
        url: "${settings.data.host}/${string(base64.decode(credentials.data.user))}"
`

// TestGeneratedValuesSurviveEachKill changes what generated values and a lookup behind a
// child depend on, with a controller that is killed at each write. A value that was written
// once changes only when it is rotated. A reference in the spec is text.
func TestGeneratedValuesSurviveEachKill(t *testing.T) {
	race.Skip(t)
	for round := range 2 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			w := load(t, killedValuesRules)
			client := w.Cluster().Client("someone")
			resource := func(name string) schema.GroupVersionResource {
				return schema.GroupVersionResource{Version: "v1", Resource: name}
			}
			patch := func(of schema.GroupVersionResource, name, text string) {
				t.Helper()
				if _, err := client.Resource(of).Namespace("default").Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for name, host := range map[string]string{"one": "a", "two": "b"} {
				settings := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"host": host},
				}}
				if _, err := client.Resource(resource("configmaps")).Namespace("default").Create(t.Context(), settings, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			var password string
			kills := 0
			for _, c := range []struct {
				change  func()
				want    string // the URL of the connection
				renewed bool   // the password
			}{
				{func() { put(t, w, "../../examples/foo/foo.yaml") }, "a/example-foo", true},
				{func() { patch(fooResource, "example-foo", `{"spec":{"deploymentName":"$(dsn)"}}`) }, "a/$(dsn)", false},
				{func() { patch(resource("configmaps"), "example-foo-binding", `{"data":{"settings":"two"}}`) }, "b/$(dsn)", false},
				{func() { patch(resource("secrets"), "example-foo", `{"data":{"hash":null,"extra":"eA=="}}`) }, "b/$(dsn)", false},
				{func() {
					patch(resource("secrets"), "example-foo", `{"metadata":{"annotations":{"reconcel.dev/rotate":"1"}}}`)
				}, "b/$(dsn)", true},
				{func() { patch(resource("secrets"), "example-foo", `{"data":{"password":"Y2hvc2Vu"}}`) }, "b/$(dsn)", true},
			} {
				c.change()
				kills += killUntilRest(t, func(committed bool) bool {
					l := &life{committed: committed == (round == 0)}
					w.Wrap(dying(l))
					if err := w.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := w.Advance(t.Context(), time.Second); err != nil {
						t.Fatal(err)
					}
					return l.over
				})
				connection := w.Cluster().Find(schema.GroupKind{Kind: "ConfigMap"}, "default", "example-foo-connection")
				if connection == nil {
					t.Fatalf("there is no connection %s", c.want)
				}
				if got, _, _ := unstructured.NestedString(connection.Object, "data", "url"); got != c.want {
					t.Errorf("the connection is %s, want %s", got, c.want)
				}
				credentials := w.Cluster().Find(schema.GroupKind{Kind: "Secret"}, "default", "example-foo")
				now := secretValue(t, credentials, "password")
				_, user, _ := strings.Cut(c.want, "/")
				if got, want := secretValue(t, credentials, "dsn"), "db://"+user+":"+now; got != want {
					t.Errorf("%s: the text with the password is %s, want %s", c.want, got, want)
				}
				if (now != password) != c.renewed {
					t.Errorf("%s: whether the password has changed is %t, want %t", c.want, now != password, c.renewed)
				}
				password = now
			}
			passwords := map[string]bool{}
			for _, c := range w.Cluster().Changes(0) {
				if c.New != nil && c.New.GetKind() == "Secret" && c.New.GetName() == "example-foo" {
					passwords[secretValue(t, c.New, "password")] = true
				}
			}
			if len(passwords) != 3 {
				t.Errorf("the Secret had %d passwords, want that of its creation, that of its rotation, and the chosen one", len(passwords))
			}
			if kills < 10 {
				t.Errorf("it was killed %d times only", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// killUntilRest repeats a life, killed before and after its first write in turn, until one
// is not killed. It returns the number of kills.
func killUntilRest(t *testing.T, live func(committed bool) (killed bool)) (kills int) {
	t.Helper()
	for live(kills%2 == 1) {
		if kills++; kills == 60 {
			t.Fatal("it does not come to rest")
		}
	}
	return kills
}

// secretValue returns a value of a Secret.
func secretValue(t *testing.T, secret *unstructured.Unstructured, key string) string {
	t.Helper()
	if secret == nil {
		t.Fatal("the Secret is gone")
	}
	text, _, _ := unstructured.NestedString(secret.Object, "data", key)
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(value) == 0 {
		t.Fatalf("the value of %s is %q, %v", key, value, err)
	}
	return string(value)
}
