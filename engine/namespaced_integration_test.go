//go:build integration

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reconcel/engine/access"
)

// neighbours returns worlds in n new namespaces.
func (w *world) neighbours(n int) (all []*world) {
	w.Helper()
	for range n {
		name := w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: test-}\n").GetName()
		w.Cleanup(func() {
			_ = w.Client.Resource(namespacesResource).Delete(context.Background(), name, deleteNow)
		})
		all = append(all, w.in(name))
	}
	return all
}

// recorder records the paths of requests.
type recorder struct {
	mu    sync.Mutex
	paths []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.paths = append(r.paths, q.Method+" "+q.URL.Path)
		r.mu.Unlock()
		return next.RoundTrip(q)
	})
}

func (r *recorder) matching(pattern string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	match := regexp.MustCompile(pattern)
	return slices.DeleteFunc(slices.Clone(r.paths), func(path string) bool { return !match.MatchString(path) })
}

// everywhere is a rule for all Widgets, with every field that reads from the cluster.
const everywhere = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: everywhere-NAMESPACE
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget, selector: {matchLabels: {followed: "yes"}}}
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings}
  - {id: shared, apiVersion: v1, kind: ConfigMap, namespace: "", selector: {matchLabels: {shared: NAMESPACE}}}
  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-copy"}
      data: {value: "${settings.data.value}", shared: "${string(size(shared))}"}
  - id: parts
    forEach: [{name: part, in: self.spec.parts}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-${part}"}
  - id: spares
    replicas: self.spec.spares
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {generateName: spare-}
  status: {parts: "${size(parts) + size(spares)}"}
  patch: {metadata: {annotations: {seen: "yes"}}}
  allow: {read: {namespaces: ["*"]}}
`

// TestOnlySomeNamespaces restricts the engine to two of three namespaces. Both work as
// usual, and the engine makes no cluster-wide request.
func TestOnlySomeNamespaces(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	beside := w.neighbours(2)
	other, outside := beside[0], beside[1]
	seen := &recorder{}
	w.wrap = seen.wrap
	only := access.Options{Namespaces: []string{w.Namespace, other.Namespace}}
	for _, at := range []*world{w, other, outside} {
		at.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, labels: {shared: " + w.Namespace + "}}\ndata: {value: \"1\"}\n")
		at.Create(strings.Replace(widget("one", "parts: [a, b], spares: 2"), "{name: one}", "{name: one, labels: {followed: \"yes\"}}", 1))
	}
	in := w.runWith(only, everywhere)
	for _, at := range []*world{w, other} {
		at.Is(widgets, "one", "Ready", "True")
		at.Has(configs, "one-copy", map[string]any{"data.value": "1", "data.shared": "2"})
		at.Has(widgets, "one", map[string]any{"status.parts": "4", "metadata.annotations.seen": "yes"})
	}

	other.Patch(configs, "settings", `{"data":{"value":"2"}}`)
	other.Has(configs, "one-copy", map[string]any{"data.value": "2"})
	other.Create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, labels: {shared: " + w.Namespace + "}}\n")
	w.Has(configs, "one-copy", map[string]any{"data.value": "1", "data.shared": "3"})
	other.Patch(configs, "one-copy", `{"data":{"value":"edited"}}`)
	other.Has(configs, "one-copy", map[string]any{"data.value": "2"})
	other.Delete(configs, "one-a")
	other.Has(configs, "one-a", nil)
	other.Patch(widgets, "one", `{"spec":{"parts":["b","c"],"spares":1}}`)
	other.Lacks(configs, "one-a")
	other.Has(widgets, "one", map[string]any{"status.parts": "3"})
	w.Has(widgets, "one", map[string]any{"status.parts": "4"})
	w.settles()
	other.settles()

	in.stop()
	since := time.Now()
	w.runWith(only, everywhere)
	w.Rest(2 * time.Second)
	if found := append(w.Writes(since), other.Writes(since)...); len(found) > 0 {
		t.Errorf("writes after a restart: %v", found)
	}
	other.Patch(widgets, "one", `{"metadata":{"labels":{"followed":null}}}`)
	other.Lacks(configs, "one-copy")
	w.Delete(widgets, "one")
	w.gone(configs, "one-copy")

	outside.untouched("one")
	if found := seen.matching("/(widgets|configmaps)"); len(found) == 0 {
		t.Error("no requests were noted")
	}
	if found := seen.matching("^GET (/api/v1|/apis/test.reconcel.dev/v1)/(widgets|configmaps)"); len(found) > 0 {
		t.Errorf("the whole cluster was asked: %v", found)
	}
	if found := seen.matching("/namespaces/" + outside.Namespace); len(found) > 0 {
		t.Errorf("the namespace outside was asked: %v", found)
	}
}

// untouched checks that the engine has not changed a Widget.
func (w *world) untouched(name string) {
	w.Helper()
	if u := w.Get(widgets, name); u.Object["status"] != nil || len(u.GetAnnotations()) > 0 {
		w.Errorf("a resource outside was written to: %v", u.Object)
	}
	if found := w.ownedBy(name); len(found) > 0 {
		w.Errorf("a resource outside has children: %v", found)
	}
}

// TestOutOfReach has rules refer to namespaces that the engine does not watch.
func TestOutOfReach(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	outside := w.neighbours(1)[0]
	seen := &recorder{}
	w.wrap = seen.wrap
	far := strings.Replace(configMapChild("far", "${self.metadata.name}-far"), "metadata: {", "metadata: {namespace: \"${self.spec.place}\", ", 1)
	rule := func(name, rest string) string {
		return strings.NewReplacer("name: widget", "name: "+name, rulesFile, "").Replace(widgetRules("selector: {matchLabels: {rule: "+name+"}}", rest))
	}
	in := w.runWith(access.Options{Namespaces: []string{w.Namespace}}, rulesFile+
		rule("child", far)+"  allow: {namespaces: [\"*\"]}\n"+
		rule("lookup", strings.Replace(configMapChild("a", "${self.metadata.name}-a"), "self.spec.value", "settings.data.value", 1))+
		"  lookups: [{id: settings, apiVersion: v1, kind: ConfigMap, namespace: \"${self.spec.place}\", name: settings}]\n  allow: {read: {namespaces: [\"*\"]}}\n"+
		rule("scope", "  - id: global\n    template: {apiVersion: test.reconcel.dev/v1, kind: Global, metadata: {name: NAMESPACE}}\n")+
		"  allow: {clusterScoped: [{group: test.reconcel.dev, kind: Global}]}\n")
	for _, name := range []string{"child", "lookup", "scope"} {
		w.Create(strings.Replace(widget(name, "value: x, place: "+outside.Namespace), "{name: "+name+"}", fmt.Sprintf("{name: %s, labels: {rule: %s}}", name, name), 1))
	}
	out := fmt.Sprintf("namespace %q is not one of those that reconcel watches: %s", outside.Namespace, w.Namespace)
	w.says(widgets, "child", "Stalled", "True", "ConfigMap/child-far: "+out)
	w.says(widgets, "lookup", "Stalled", "True", out)
	w.says(widgets, "scope", "Ready", "False", "waits for kind Global: Global is cluster-scoped, and reconcel watches only some namespaces")
	if found := seen.matching("/globals|/namespaces/" + outside.Namespace); len(found) > 0 {
		t.Errorf("it was asked for: %v", found)
	}
	if err := in.Ready(); err != nil {
		t.Error(err)
	}
	w.Patch(widgets, "child", `{"spec":{"place":"`+w.Namespace+`"}}`)
	w.Is(widgets, "child", "Ready", "True")
}

// fence denies reading the ConfigMaps of a namespace while it is up.
type fence struct {
	namespace string
	up        atomic.Bool
}

func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	refused := forbidden("/api/v1/namespaces/" + f.namespace + "/configmaps")(next)
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && f.up.Load() {
			return refused.RoundTrip(r)
		}
		return next.RoundTrip(r)
	})
}

const aService = "  - id: s\n    template: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}\n"

// fenced starts an engine in the world, a neighbour of it, and a namespace that does not
// exist. The fence of the neighbour is up. No rule needs ConfigMaps yet.
func (w *world) fenced() (in *instance, other *world, f *fence) {
	w.Helper()
	w.CRD(widgetCRD)
	other = w.neighbours(1)[0]
	f = &fence{namespace: other.Namespace}
	f.up.Store(true)
	w.wrap = f.wrap
	in = w.runWith(access.Options{Namespaces: []string{w.Namespace, other.Namespace, "never-was-there"}}, anywhere(widgetRules("", aService)))
	return in, other, f
}

// anywhere makes rules select resources in all namespaces.
func anywhere(source string) string {
	return strings.ReplaceAll(source, "    namespaces: [NAMESPACE]\n", "")
}

const spanning = `- name: spanning-NAMESPACE
  for: {apiVersion: test.reconcel.dev/v1, kind: Widget, selector: {matchLabels: {spanning: "yes"}}}
  lookups: [{id: all, apiVersion: v1, kind: ConfigMap, namespace: "", selector: {matchLabels: {count: "yes"}}}]
  allow: {read: {namespaces: ["*"]}}
  status: {count: "${size(all)}"}
`

// TestForbiddenInOneNamespace forbids reading one of three namespaces. Only resources in
// that namespace, or related to it, wait.
func TestForbiddenInOneNamespace(t *testing.T) {
	w := newWorldAlone(t)
	in, other, fence := w.fenced()
	started := time.Now()
	w.reload(in, anywhere(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))+spanning)
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("the namespaces that may be read waited %s for the other", took)
	}
	w.Create(widget("one", "value: x"))
	other.Create(widget("one", "value: x"))
	w.Create(strings.Replace(widget("two", "value: x"), "{name: two}", "{name: two, labels: {spanning: \"yes\"}}", 1))
	w.Is(widgets, "one", "Ready", "True")
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
	why := "waits for kind ConfigMap: namespace " + other.Namespace + ": "
	other.says(widgets, "one", "Ready", "False", w.Fill(`rule "widget-NAMESPACE": `+why))
	w.says(widgets, "two", "Ready", "False", w.Fill(`rule "spanning-NAMESPACE": `+why))
	if status := w.Get(widgets, "two").Object["status"].(map[string]any); status["count"] != nil {
		t.Errorf("a list that is not complete was taken for one: %v", status)
	}
	if log := in.log.String(); !strings.Contains(log, "cannot watch, will retry\" namespace="+other.Namespace) {
		t.Error("the log does not say which namespace may not be read")
	}
	if err := in.Ready(); err != nil {
		t.Error(err)
	}

	fence.up.Store(false)
	other.Is(widgets, "one", "Ready", "True")
	other.Has(configs, "one-a", map[string]any{"data.value": "x"})
	w.Has(widgets, "two", map[string]any{"status.count": "0"})
	w.Is(widgets, "two", "Ready", "True")
}

// TestNothingIsPrunedUnread renames a child while the engine may not read one namespace.
func TestNothingIsPrunedUnread(t *testing.T) {
	w := newWorld(t)
	rule := anywhere(widgetRules("", configMapChild("a", "${self.metadata.name}-a")))
	in, other, fence := w.fenced()
	fence.up.Store(false)
	w.reload(in, rule)
	for _, at := range []*world{w, other} {
		at.Create(widget("one", "value: x"))
		at.Has(configs, "one-a", nil)
	}
	in.stop()

	fence.up.Store(true)
	only := access.Options{Name: "another", TakeOver: []string{w.Namespace + "/reconcel"}, Namespaces: []string{w.Namespace, other.Namespace}} // Its inventory does not list the kind.
	in = w.runWith(only, anywhere(widgetRules("", aService)))
	w.reload(in, strings.ReplaceAll(rule, "${self.metadata.name}-a", "${self.metadata.name}-b"))
	w.Has(configs, "one-b", nil)
	w.Lacks(configs, "one-a")
	other.says(widgets, "one", "Ready", "False", "waits for kind ConfigMap")
	other.Has(configs, "one-a", nil)
	fence.up.Store(false)
	other.Has(configs, "one-b", nil)
	other.Lacks(configs, "one-a")
}
