//go:build integration

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/engine/access"
	"reconcel/engine/leader"
	"reconcel/test/e2e"
)

var (
	clusterRoles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	clusterRoleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
	accessReviews       = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	serviceAccounts     = e2e.GVK("v1", "ServiceAccount")
	guardeds            = e2e.GVK("test.reconcel.dev/v1", "Guarded")
)

// A permission is a verb on a resource.
type permission struct{ verb, group, resource string }

func (a permission) String() string { return a.verb + " " + a.resource }

// guardedPermissions returns all permissions that an engine needs for guardedRules.
func guardedPermissions() (all []permission) {
	const own = "test.reconcel.dev"
	add := func(group, resource string, verbs ...string) {
		for _, v := range verbs {
			all = append(all, permission{v, group, resource})
		}
	}
	add(own, "guardeds", "get", "list", "watch", "patch")
	add(own, "widgets", "get", "list", "watch")
	add(own, "guardeds/status", "patch")
	add(own, "widgets/status", "patch")
	add("", "services", "get", "list", "watch", "create", "patch", "delete")
	add("", "serviceaccounts", "get", "list", "watch", "create", "patch", "delete")
	add("", "limitranges", "list", "watch")
	add("", "configmaps", "get", "create", "update")
	add("coordination.k8s.io", "leases", "get", "create", "update")
	add("events.k8s.io", "events", "create", "patch")
	return all
}

// guardedRules have a rule that needs all sorts of permissions, and one that shares few
// of them.
var guardedRules = widgetRules("", serviceChild) + `- name: guarded-NAMESPACE
  for: {apiVersion: test.reconcel.dev/v1, kind: Guarded, namespaces: [NAMESPACE]}
  teardown: ordered
  lookups:
  - {id: limit, apiVersion: v1, kind: LimitRange, name: limit}
  children:
  - id: account
    template:
      apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: ${self.metadata.name}-${self.spec.value}
        annotations: {limit: "${limit.?metadata.?name.orValue('none')}"}
  status:
    value: ${self.spec.value}
`

// allow grants the world's engines these permissions and no others.
func (w *world) allow(all []permission) {
	w.Helper()
	var entries []any
	for _, a := range all {
		entries = append(entries, map[string]any{
			"apiGroups": []any{a.group}, "resources": []any{a.resource}, "verbs": []any{a.verb},
		})
	}
	role := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": w.Namespace}, "rules": entries,
	}}
	if _, err := w.Client.Resource(clusterRoles).Apply(w.Context(), w.Namespace, role, metav1.ApplyOptions{FieldManager: "driver", Force: true}); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the permissions to be in force", func() error {
		for _, a := range guardedPermissions() {
			if w.allowed(a) != slices.Contains(all, a) {
				return fmt.Errorf("%s is not yet as it should", a)
			}
		}
		return nil
	})
}

// allowed reports whether the world's engines have a permission.
func (w *world) allowed(a permission) bool {
	w.Helper()
	path, sub, _ := strings.Cut(a.resource, "/")
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": w.user(), "resourceAttributes": map[string]any{
			"verb": a.verb, "group": a.group, "resource": path, "subresource": sub, "namespace": w.Namespace,
		}},
	}}
	answer, err := w.Client.Resource(accessReviews).Create(w.Context(), review, createOptions)
	if err != nil {
		w.Fatal(err)
	}
	yes, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return yes
}

// user is the user name of the world's engines after restrict.
func (w *world) user() string { return "restricted-" + w.Namespace }

// restrict makes the world's engines run as a user without cluster-admin rights.
func (w *world) restrict() {
	w.Helper()
	user := w.user()
	w.wrap = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Impersonate-User", user)
			r.Header.Set("Impersonate-Group", "system:authenticated")
			return next.RoundTrip(r)
		})
	}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": map[string]any{"name": w.Namespace},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": w.Namespace},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
	}}
	if _, err := w.Client.Resource(clusterRoleBindings).Create(w.Context(), binding, createOptions); err != nil {
		w.Fatal(err)
	}
	w.allow(guardedPermissions())
	w.Cleanup(func() {
		for _, r := range []schema.GroupVersionResource{clusterRoleBindings, clusterRoles} {
			if err := w.Client.Resource(r).Delete(context.Background(), w.Namespace, deleteNow); err != nil {
				w.Errorf("clean up: %v", err)
			}
		}
	})
}

func guarded(name, value string) string {
	return strings.Replace(widget(name, "value: "+value), "Widget", "Guarded", 1)
}

// holds returns an error if a Guarded with this value is not as guardedRules want it, or
// still has the child of the value before.
func (w *world) holds(name, value, before string) error {
	w.Helper()
	u := w.Get(guardeds, name)
	if err := e2e.Condition(u, "Ready", "True"); err != nil {
		return err
	}
	if got, _, _ := unstructured.NestedString(u.Object, "status", "value"); got != value {
		return fmt.Errorf("status.value is %q", got)
	}
	if len(u.GetFinalizers()) == 0 {
		return errors.New("it has no finalizer")
	}
	if w.Get(serviceAccounts, name+"-"+value) == nil {
		return errors.New("it has no child")
	}
	if before != "" && w.Get(serviceAccounts, name+"-"+before) != nil {
		return errors.New("it still has its child of before")
	}
	return nil
}

// said returns everything that an engine reports about errors: its log, its readiness and
// conditions.
func (w *world) said(in *instance) string {
	text := in.log.String()
	text += strings.ReplaceAll(text, `\"`, `"`) // The status does not escape quotes as the log does.
	if err := in.Ready(); err != nil {
		text += err.Error()
	}
	for _, name := range []string{"one", "two"} {
		if u := w.Get(guardeds, name); u != nil {
			text += fmt.Sprint(u.Object["status"])
		}
	}
	return text
}

// TestMissingPermissions revokes one permission after another, and grants it again.
func TestMissingPermissions(t *testing.T) {
	for _, test := range []struct {
		withheld permission // "list" includes "watch": an engine that streams lists needs nothing else
		says     string
		stops    string // "": only the rule that needs it, or "everything", or "nothing"
	}{
		{permission{"list", "test.reconcel.dev", "guardeds"}, `cannot list resource \"guardeds\"`, ""},
		{permission{"watch", "test.reconcel.dev", "guardeds"}, `cannot watch resource \"guardeds\"`, "nothing"},
		{permission{"list", "", "serviceaccounts"}, `cannot list resource \"serviceaccounts\"`, ""},
		{permission{"list", "", "limitranges"}, `cannot list resource \"limitranges\"`, ""},
		{permission{"create", "", "serviceaccounts"}, `cannot create resource "serviceaccounts"`, ""},
		{permission{"patch", "", "serviceaccounts"}, `cannot patch resource "serviceaccounts"`, ""},
		{permission{"delete", "", "serviceaccounts"}, `cannot delete resource "serviceaccounts"`, ""},
		{permission{"get", "", "serviceaccounts"}, `cannot get resource "serviceaccounts"`, ""},
		{permission{"get", "test.reconcel.dev", "guardeds"}, `cannot get resource "guardeds"`, ""},
		{permission{"patch", "test.reconcel.dev", "guardeds"}, `cannot patch resource "guardeds"`, ""},
		{permission{"patch", "test.reconcel.dev", "guardeds/status"}, `cannot patch resource \"guardeds/status\"`, ""},
		{permission{"get", "", "configmaps"}, `cannot get resource "configmaps"`, "everything"},
		{permission{"get", "coordination.k8s.io", "leases"}, `cannot get resource "leases"`, "everything"},
		{permission{"update", "coordination.k8s.io", "leases"}, `cannot update resource "leases"`, "everything"},
		{permission{"create", "events.k8s.io", "events"}, "", "nothing"},
	} {
		t.Run(test.withheld.String(), func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			w.CRD(kindLike("Guarded"))
			w.restrict()
			options := func() access.Options {
				if test.withheld.resource != "leases" {
					return access.Options{}
				}
				return access.Options{Leadership: &leader.Options{Identity: fmt.Sprint(time.Now().UnixNano()), Lost: func(error) {}}}
			}
			before := w.runWith(options(), guardedRules)
			w.Create(guarded("one", "a"))
			w.Eventually("Guarded one with a", func() error { return w.holds("one", "a", "") })
			before.stop()

			w.allow(slices.DeleteFunc(guardedPermissions(), func(a permission) bool {
				return a == test.withheld || test.withheld.verb == "list" && a == permission{"watch", test.withheld.group, test.withheld.resource}
			}))
			in := w.startWith(options(), guardedRules)
			w.Create(widget("other", "value: x"))
			w.Create(guarded("two", "b"))
			w.Patch(guardeds, "one", `{"spec":{"value":"b"}}`)
			w.Eventually("the engine to say what it may not do", func() error {
				if !strings.Contains(w.said(in), test.says) {
					return errors.New(test.says + " is not said")
				}
				return nil
			})
			if test.stops != "everything" {
				if took := w.Has(services, "other", nil); took > 10*time.Second {
					t.Errorf("another rule had to wait for %s", took)
				}
			}
			w.Rest(5 * time.Second) // The first retries slow down.
			w.allow(guardedPermissions())
			granted := time.Now()
			if test.withheld.verb == "watch" {
				w.Patch(guardeds, "one", `{"spec":{"value":"a"}}`)
				w.Rest(2 * forbiddenPolls)
				w.Patch(guardeds, "one", `{"spec":{"value":"b"}}`)
			}
			w.Eventually("what was missing to be done", func() error {
				return errors.Join(w.holds("one", "b", "a"), w.holds("two", "b", ""))
			})
			took := time.Since(granted)
			t.Logf("%s after the grant", took.Round(100*time.Millisecond))
			if took > time.Minute {
				t.Errorf("it took %s", took)
			}
			w.Has(services, "other", nil)
			w.Delete(guardeds, "one")
			w.Lacks(serviceAccounts, "one-b")
		})
	}
}

// forbiddenPolls is roughly the interval between attempts to start a forbidden watch.
const forbiddenPolls = 10 * time.Second

// TestReadingIsRevoked revokes the right to read primaries while the engine works. The
// engine keeps its caches, and catches up on missed changes.
func TestReadingIsRevoked(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.CRD(kindLike("Guarded"))
	w.restrict()
	in := w.run(guardedRules)
	for _, name := range []string{"one", "two", "three"} {
		w.Create(guarded(name, "a"))
		w.Eventually("Guarded "+name+" with a", func() error { return w.holds(name, "a", "") })
	}
	w.allow(slices.DeleteFunc(guardedPermissions(), func(a permission) bool {
		return a.resource == "guardeds" && (a.verb == "list" || a.verb == "watch")
	}))
	w.endWatches("guardeds.test.reconcel.dev")
	if took := w.Eventually("the watch to be refused", func() error { return in.logged("WARN", "lost permission to watch", "Guarded", "is forbidden") }); took > time.Minute {
		t.Errorf("it was said after %s", took)
	}
	w.Delete(serviceAccounts, "one-a")
	if took := w.Has(serviceAccounts, "one-a", nil); took > 10*time.Second {
		t.Errorf("what is known was repaired after %s", took)
	}
	w.Patch(guardeds, "one", `{"spec":{"value":"b"}}`)
	w.Delete(guardeds, "two")
	w.Patch(guardeds, "three", `{"metadata":{"finalizers":null}}`)
	w.Delete(guardeds, "three")
	w.Rest(15 * time.Second)
	w.allow(guardedPermissions())
	granted := time.Now()
	w.Eventually("one to be as it should", func() error { return w.holds("one", "b", "a") })
	w.Lacks(guardeds, "two")
	w.Lacks(serviceAccounts, "two-a")
	w.Lacks(serviceAccounts, "three-a")
	took := time.Since(granted)
	t.Logf("%s after the grant", took.Round(100*time.Millisecond))
	if took > time.Minute {
		t.Errorf("it took %s", took)
	}
	w.Eventually("the watch to be restored", func() error { return in.logged("INFO", "watch permission restored", "Guarded") })
	if n := strings.Count(in.log.String(), "lost permission to watch"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
}

// logged returns an error with the missing parts if no line of the log has all of them.
func (in *instance) logged(parts ...string) error {
	for line := range strings.Lines(in.log.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return nil
		}
	}
	return fmt.Errorf("no line of the log has %q", parts)
}

// endWatches ends the watches of a custom kind, as any edit of its CRD does.
func (w *world) endWatches(crd string) {
	w.Helper()
	body := fmt.Sprintf(`{"spec":{"names":{"shortNames":["x%d"]}}}`, time.Now().UnixNano())
	w.Patch(e2e.GVK("apiextensions.k8s.io/v1", "CustomResourceDefinition"), crd, body)
}
