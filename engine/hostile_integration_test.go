//go:build integration

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// TestHostileTenant has a tenant who may only create Widgets try to make reconcel write
// outside the tenant's namespace. It uses hostile values under rules that put them
// wherever a rule can, and Widgets with forged metadata. Reconcel writes nothing
// elsewhere, and neither changes nor reveals objects of others. Every Widget reports its
// result, and a good Widget among them is reconciled.
func TestHostileTenant(t *testing.T) {
	h := newHostile(t)
	before := h.others()
	since := time.Now()
	tried := h.attack()
	if tried < 200 {
		t.Errorf("%d hostile resources, want 200 at least", tried)
	}
	h.Create(h.good("late"))
	h.Has(configs, "late-good", map[string]any{"data.value": "fine"})
	h.Is(widgets, "late", "Ready", "True")
	reasons := h.answered()
	h.settles()
	h.blameless(since, before)

	h.Patch(widgets, "late", `{"spec":{"v":"changed"}}`)
	h.Has(configs, "late-good", map[string]any{"data.value": "changed"})
	h.withdraw()
	h.blameless(since, before)
	t.Logf("%d hostile resources under %d rules: %v", tried, len(hostileRules), reasons)
}

// hostile is a world whose namespace is the tenant's, with the objects around it that
// need protection.
type hostile struct {
	*world
	other string // a foreign namespace
	agent string // the engine's User-Agent: other engines share its user
	works *instance
}

const canary = "canary-of-another-owner"

func newHostile(t *testing.T) *hostile {
	w := newWorldAlone(t) // Hundreds of Widgets would disturb other tests.
	w.CRD(widgetCRD)
	h := &hostile{world: w, agent: "hostile-" + w.Namespace}
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	h.other = w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: other-}\n").GetName()
	w.Cleanup(func() {
		_ = w.Client.Resource(namespacesResource).Delete(context.Background(), h.other, deleteNow)
	})
	w.wrap = func(next http.RoundTripper) http.RoundTripper { return named{next, h.agent} }
	var rules strings.Builder
	rules.WriteString("apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n")
	for _, r := range hostileRules {
		rules.WriteString(r.yaml())
	}
	h.works = w.run(strings.ReplaceAll(rules.String(), "OTHER", h.other))
	theirs := w.in(h.other)
	theirs.Create(h.good("neighbour"))
	theirs.Is(widgets, "neighbour", "Ready", "True")
	h.plant()
	h.settles()
	return h
}

// named sends requests under its own User-Agent.
type named struct {
	http.RoundTripper
	agent string
}

// RoundTrip implements http.RoundTripper.
func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", n.agent)
	return n.RoundTripper.RoundTrip(r)
}

// good is a Widget that reconcel reconciles like any other.
func (h *hostile) good(name string) string {
	return fmt.Sprintf("{apiVersion: test.reconcel.dev/v1, kind: Widget, metadata: {name: %s}, spec: {rule: good, v: fine}}", name)
}

// plant creates foreign objects where the tenant aims, some of them with reconcel's
// marks.
func (h *hostile) plant() {
	h.Helper()
	for _, namespace := range []string{h.other, "kube-system", "default"} {
		h.in(namespace).Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: target-" + h.Namespace + "}, data: {value: " + canary + "}}")
	}
	h.Cleanup(func() {
		for _, namespace := range []string{"kube-system", "default"} {
			_ = h.Client.Resource(configMapsResource).Namespace(namespace).Delete(context.Background(), "target-"+h.Namespace, deleteNow)
		}
	})
	holder := h.Create("{apiVersion: v1, kind: ConfigMap, metadata: {name: holder}}")
	h.Create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: victim, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: holder, uid: %s, controller: true}]}
`, holder.GetUID()))
	for _, namespace := range []string{h.Namespace, h.other} {
		h.in(namespace).Create(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: forged
  labels: {reconcel.dev/rule: good-%s, reconcel.dev/child: good}
  annotations: {reconcel.dev/owner: %s}
`, h.Namespace, h.neighbour()))
	}
}

// neighbour returns the value of the owner annotation on objects of the neighbour's
// Widget.
func (h *hostile) neighbour() string {
	h.Helper()
	return fmt.Sprintf("%s/Widget.test.reconcel.dev/%s/neighbour", h.in(h.other).Get(widgets, "neighbour").GetUID(), h.other)
}

// others returns the versions of all objects outside the tenant's namespace.
func (h *hostile) others() map[string]string {
	h.Helper()
	all := map[string]string{}
	note := func(u *unstructured.Unstructured, namespace, name string) {
		key := namespace + "/" + name
		if all[key] = "gone"; u != nil {
			all[key] = string(u.GetUID()) + " " + u.GetResourceVersion()
		}
	}
	theirs := h.in(h.other)
	for _, kind := range []schema.GroupVersionKind{configs, widgets} {
		for _, u := range theirs.every(kind) {
			note(&u, h.other, kind.Kind+"/"+u.GetName())
		}
	}
	for namespace, names := range map[string][]string{
		h.Namespace: {"victim", "holder", "forged"}, "kube-system": {"target-" + h.Namespace}, "default": {"target-" + h.Namespace},
	} {
		for _, name := range names {
			note(h.in(namespace).Get(configs, name), namespace, name)
		}
	}
	return all
}

// every returns all objects of a kind in the world's namespace.
func (w *world) every(kind schema.GroupVersionKind) []unstructured.Unstructured {
	w.Helper()
	list, err := w.Resource(kind).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// attack creates all hostile Widgets and returns how many the API server accepted.
func (h *hostile) attack() (taken int) {
	h.Helper()
	cases := h.cases()
	results := make(chan error)
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := i; n < len(cases); n += 8 {
				_, err := h.Resource(widgets).Create(h.Context(), cases[n], createOptions)
				results <- err
			}
		})
	}
	go func() { work.Wait(); close(results) }()
	for err := range results {
		switch {
		case err == nil:
			taken++
		case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
			h.Errorf("create: %v", err)
		}
	}
	return taken
}

// answered waits until every Widget reports its result, and counts the reasons. It reads
// one Widget at a time, because a list has many megabytes.
func (h *hostile) answered() map[string]int {
	h.Helper()
	reasons := map[string]int{}
	for _, u := range h.every(widgets) {
		h.Eventually(u.GetName()+" to report its result", func() error {
			said, err := answer(h.Get(widgets, u.GetName()))
			if err == nil {
				reasons[said]++
			}
			return err
		})
	}
	return reasons
}

// answer returns the reason of Ready. The message must tell people what is wrong.
func answer(u *unstructured.Unstructured) (string, error) {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		switch {
		case c["type"] != "Ready":
		case c["observedGeneration"] != u.GetGeneration():
			return "", fmt.Errorf("Ready is of generation %v, not %d", c["observedGeneration"], u.GetGeneration())
		case c["reason"] == "" || c["status"] != "True" && c["message"] == "":
			return "", fmt.Errorf("Ready does not say why: %v", c)
		default:
			return fmt.Sprint(c["reason"]), nil
		}
	}
	return "", fmt.Errorf("no condition Ready in %v", conditions)
}

// blameless checks that the engine wrote only in the tenant's namespace, and neither
// changed nor revealed foreign objects.
func (h *hostile) blameless(since time.Time, before map[string]string) {
	h.Helper()
	h.FlushAudit()
	seen, err := h.Cluster.Requests(func(r devcluster.Request) bool {
		return r.UserAgent == h.agent && r.IsWrite() && !r.Received.Before(since)
	})
	if err != nil {
		h.Fatal(err)
	}
	if len(seen) == 0 {
		h.Error("the audit log has no writes of the engine at all")
	}
	for _, r := range seen {
		if r.Namespace != h.Namespace {
			h.Errorf("a write outside: %s %s", r.Verb, r.URI)
		}
	}
	if diff := cmp.Diff(before, h.others()); diff != "" {
		h.Errorf("what is of others has changed (-before +after):\n%s", diff)
	}
	for _, kind := range []schema.GroupVersionKind{configs, widgets} {
		for _, u := range h.every(kind) {
			if text, err := json.Marshal(u.Object); err != nil || strings.Contains(string(text), canary) {
				h.Errorf("%s %s tells what is in another namespace: %v", kind.Kind, u.GetName(), err)
			}
		}
	}
	if log := h.works.log.String(); strings.Contains(log, "panic") {
		h.Error("something has panicked")
	}
}

func (h *hostile) withdraw() {
	h.Helper()
	if err := h.Resource(widgets).DeleteCollection(h.Context(), deleteNow, metav1.ListOptions{}); err != nil {
		h.Fatal(err)
	}
	e2e.Poll(h.T, "all Widgets to be gone", e2e.Patience, time.Second, func() error {
		if left := h.every(widgets); len(left) > 0 {
			return fmt.Errorf("%d are left, such as %s with %v", len(left), left[0].GetName(), left[0].GetFinalizers())
		}
		return nil
	})
}
