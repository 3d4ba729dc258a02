//go:build integration

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"reconcel/engine/access"
	"reconcel/engine/inventory"
	"reconcel/test/devcluster"
	"reconcel/test/e2e"
)

// granted lets the ServiceAccount deployer of a namespace write what the rules of these
// tests create there.
const granted = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: deployer}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [create, patch, delete]}
- {apiGroups: [batch], resources: [jobs], verbs: [create, patch, delete]}
- {apiGroups: [apps], resources: [deployments], verbs: [create, patch, delete]}
- {apiGroups: [test.reconcel.dev], resources: [widgets], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, name: deployer, namespace: NAMESPACE}]
`

// as makes rules impersonate an account when they write.
func as(account, source string) string {
	return strings.Replace(source, "  for:", "  serviceAccountName: "+account+"\n  for:", 1)
}

// patching makes rules label their primary.
func patching(source string) string {
	return strings.Replace(source, "  for:", "  patch: {metadata: {labels: {value: \"${self.spec.value}\"}}}\n  for:", 1)
}

// signature names the kind of a write of the engine, and its field manager if that is a
// rule's.
func signature(r devcluster.Request) string {
	what := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	switch {
	case strings.Contains(r.URI, "dryRun=All"):
		what += " dry"
	case r.Verb == "patch" && r.Code == 201:
		what = "create " + r.Resource
	case r.Resource == "widgets" && strings.Contains(r.URI, "fieldManager=reconcel%2F"):
		what += " by rule"
	}
	return what
}

// writtenAs counts the engine's writes by the account that it impersonated.
func (w *world) writtenAs(since time.Time) map[string]map[string]int {
	w.Helper()
	all := map[string]map[string]int{}
	for _, r := range w.Writes(since) {
		if all[r.As] == nil {
			all[r.As] = map[string]int{}
		}
		all[r.As][signature(r)]++
	}
	return all
}

// TestAWholeLifeAsAnAccount has a rule write in every way that a rule can. The audit log
// shows the impersonated account of each write.
func TestAWholeLifeAsAnAccount(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	w.Create(granted)
	since := time.Now()
	many := "  - id: many\n    replicas: self.spec.count\n    template:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {generateName: \"${self.metadata.name}-many-\"}\n"
	deployment := "  - id: web\n    template:\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: \"${self.metadata.name}-web\"}\n" +
		"      spec:\n        replicas: 0\n        selector: {matchLabels: {app: x}}\n        template:\n          metadata: {labels: {app: x}}\n" +
		"          spec: {containers: [{name: c, image: x, env: [{name: A, value: \"1\"}]}]}\n"
	children := []string{configMapChild("a", "${self.metadata.name}-a"), onChange("r", "replace"), adopting(configMapChild("free", "${self.metadata.name}-free")), many, deployment}
	source := func(children ...string) string {
		return as("NAMESPACE/deployer", widgetRules("", children...)) + finalizeJob("60s", "false") + "  teardown: ordered\n"
	}
	in := w.run(patching(source(append(children, configMapChild("past", "${self.metadata.name}-past"))...)))
	before := w.Create(free("one-free", ""))
	one := w.Create(widget("one", "value: first, count: 5"))
	w.Is(widgets, "one", "Ready", "True")
	w.label(widgets, "one", "value", "first")
	w.Has(configs, "one-free", map[string]any{"metadata.uid": before.GetUID(), "data.value": "first"})

	// Drift, also of managedFields and of a field that excludes the rule's field.
	w.Patch(configs, "one-a", `{"data":{"value":"edited"},"metadata":{"managedFields":[{}]}}`)
	w.Has(configs, "one-a", map[string]any{"data.value": "first"})
	w.Eventually("the lost owner of the fields to be gone", func() error {
		for _, entry := range w.Get(configs, "one-a").GetManagedFields() {
			if entry.Manager == "before-first-apply" {
				return errors.New("it is there")
			}
		}
		return nil
	})
	_, err := w.Resource(deployments).Patch(w.Context(), "one-web", types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/env/0","value":{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}}]`),
		metav1.PatchOptions{FieldManager: "driver"})
	if err != nil {
		t.Fatal(err)
	}
	w.container("one-web", "1", func(c map[string]any) any { return c["env"].([]any)[0].(map[string]any)["value"] })

	// Change, scale, replace.
	replaced := w.uid(configs, "one-r")
	w.Patch(widgets, "one", `{"spec":{"value":"second","count":2}}`)
	w.another(configs, "one-r", replaced)
	w.Has(configs, "one-r", map[string]any{"data.value": "second"})
	w.Is(widgets, "one", "Ready", "True")
	w.Eventually("three of five replicas to go", func() error {
		count := 0
		for name := range w.ownedOrTracked(one) {
			if strings.HasPrefix(name, "one-many-") {
				count++
			}
		}
		if count != 2 {
			return fmt.Errorf("there are %d", count)
		}
		return nil
	})
	w.settles()
	in.stop()

	// Prune, a removed patch, and the deletion of the primary.
	w.run(source(children...))
	w.Lacks(configs, "one-past")
	w.label(widgets, "one", "value", "")
	w.Is(widgets, "one", "Ready", "True")
	w.settles()
	w.deleteWith(widgets, "one", metav1.DeletePropagationBackground)
	w.gone(widgets, "one")

	all := w.writtenAs(since)
	account := "system:serviceaccount:" + w.Namespace + ":deployer"
	for _, what := range []string{"create configmaps", "patch configmaps", "patch configmaps dry", "delete configmaps", "create jobs", "delete jobs",
		"create deployments", "patch deployments", "delete deployments", "patch widgets by rule"} {
		if all[account][what] == 0 {
			t.Errorf("no %s as the account, only %v", what, all[account])
		}
	}
	for what := range all[account] {
		if strings.HasPrefix(what, "patch widgets") && what != "patch widgets by rule" || strings.Contains(what, "events") {
			t.Errorf("%s is the engine's own, and was made as the account", what)
		}
	}
	for what, n := range all[""] {
		switch what {
		case "create events", "patch events", "patch widgets/status", "patch widgets": // Patches of widgets change finalizers here.
		case "create configmaps", "update configmaps":
			// The inventory.
		default:
			t.Errorf("%d × %s was made as ourselves", n, what)
		}
	}
	for _, r := range w.Writes(since) {
		if r.Resource == "configmaps" && r.As == "" && r.Verb != "create" && r.Name != "reconcel-inventory" && r.Name != "reconcel-revisions" || r.Code >= 400 && r.Code != 409 && r.Code != 422 {
			t.Errorf("%s %s as %q: %d %s", r, r.Name, r.As, r.Code, r.Message)
		}
	}
	delete(all, account)
	delete(all, "")
	if len(all) > 0 {
		t.Errorf("writes as other users: %v", all)
	}
}

// TestRemovedRuleGoesAsItsAccount removes a rule whose objects are deleted with it. The
// cleanup must not have more permissions than the rule had.
func TestRemovedRuleGoesAsItsAccount(t *testing.T) {
	second := strings.Replace(widgetRules("", configMapChild("b", "${self.metadata.name}-b")), "name: widget", "name: second", 1)
	none := strings.Replace(rulesFile, "rules:\n", "rules: []\n", 1)
	for _, c := range []struct{ name, account, rest, when string }{
		{"beside another rule", "NAMESPACE/deployer", second, "running"},
		{"the only rule", "deployer", none, "running"},
		{"while no process runs", "deployer", none, "down"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.CRD(widgetCRD)
			w.Create(granted)
			in := w.run(patching(as(c.account, widgetRules("", configMapChild("a", "${self.metadata.name}-a")))) + "  onRuleRemoval: delete\n")
			w.Create(widget("one", "value: x"))
			w.Is(widgets, "one", "Ready", "True")
			w.label(widgets, "one", "value", "x")
			w.settles()
			since := time.Now()
			if c.when == "down" {
				in.stop()
				w.run(c.rest)
			} else {
				w.reload(in, c.rest)
			}
			w.gone(configs, "one-a")
			w.label(widgets, "one", "value", "")
			w.forgets(w.Fill("widget-NAMESPACE"))
			all := w.writtenAs(since)
			account := "system:serviceaccount:" + w.Namespace + ":deployer"
			for _, what := range []string{"delete configmaps", "patch widgets by rule"} {
				if all[account][what] == 0 || all[""][what] > 0 {
					t.Errorf("%s: %d times as the account, and %d times as ourselves", what, all[account][what], all[""][what])
				}
			}
			if len(all[account]) != 2 {
				t.Errorf("as the account there was %v", all[account])
			}
		})
	}
}

// ownedOrTracked returns the UIDs of a primary's ConfigMaps by name.
func (w *world) ownedOrTracked(primary *unstructured.Unstructured) map[string]types.UID {
	w.Helper()
	list, err := w.Resource(configs).List(w.Context(), metav1.ListOptions{LabelSelector: "reconcel.dev/rule=" + w.Fill("widget-NAMESPACE")})
	if err != nil {
		w.Fatal(err)
	}
	found := map[string]types.UID{}
	for i := range list.Items {
		u := &list.Items[i]
		if strings.HasPrefix(u.GetAnnotations()["reconcel.dev/owner"], string(primary.GetUID())) && u.GetDeletionTimestamp() == nil {
			found[u.GetName()] = u.GetUID()
		}
	}
	return found
}

// TestAccountOfEachNamespace gives each namespace its own account, which decides what the
// rule may do there. A missing permission takes effect once it is granted.
func TestAccountOfEachNamespace(t *testing.T) {
	w := newWorld(t)
	w.CRD(widgetCRD)
	namespace := w.Create("apiVersion: v1\nkind: Namespace\nmetadata: {generateName: other-}\n").GetName()
	t.Cleanup(func() { _ = w.Client.Resource(namespacesResource).Delete(context.Background(), namespace, deleteNow) })
	other := w.in(namespace)
	w.Create(granted)
	source := func(account string) string {
		return strings.Replace(as(account, widgetRules("", configMapChild("a", "${self.metadata.name}-a"))),
			"namespaces: [NAMESPACE]", "namespaces: [NAMESPACE, "+namespace+"]", 1)
	}
	in := w.run(source("deployer"))
	w.Create(widget("one", "value: x"))
	other.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Ready", "True")
	other.Is(widgets, "one", "Stalled", "True")
	other.saysOf(widgets, "Stalled", "Forbidden", `User "system:serviceaccount:`+namespace+`:deployer" cannot patch resource "configmaps"`)
	other.Lacks(configs, "one-a")

	other.Create(granted)
	started := time.Now()
	other.Is(widgets, "one", "Ready", "True")
	if took := time.Since(started); took > time.Minute {
		t.Errorf("it took %s to heal", took)
	}
	w.settles()

	// A different account causes no write besides that of the inventory, which records the changed rule.
	since := time.Now()
	w.reload(in, source("other"))
	w.Rest(2 * time.Second)
	for _, r := range append(w.Writes(since), other.Writes(since)...) {
		if r.Resource != "events" && (r.Resource != "configmaps" || r.Name != inventory.Name("reconcel") && r.Name != inventory.TextNames("reconcel")[0]) {
			t.Errorf("%s %s after another account was named", r, r.Name)
		}
	}
	w.Patch(widgets, "one", `{"spec":{"value":"y"}}`)
	w.saysOf(widgets, "Stalled", "Forbidden", ":other")
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
}

// TestAccountThatMayNotBeActedAs expects an engine without the right to impersonate to
// report it, and to recover once it has the right.
func TestAccountThatMayNotBeActedAs(t *testing.T) {
	w := newWorld(t)
	if w.Cluster.Borrowed() {
		t.Skip("a borrowed cluster may not give out tokens")
	}
	w.CRD(widgetCRD)
	w.Create(granted)
	w.Create(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: controller}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: account-NAMESPACE}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, update]}
- {apiGroups: [test.reconcel.dev], resources: [widgets], verbs: [get, list, watch]}
- {apiGroups: [test.reconcel.dev], resources: [widgets/status], verbs: [patch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: account-NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: account-NAMESPACE}
subjects: [{kind: ServiceAccount, name: controller, namespace: NAMESPACE}]
`)
	t.Cleanup(func() {
		for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
			_ = w.Resource(e2e.GVK("rbac.authorization.k8s.io/v1", kind)).Delete(context.Background(), "account-"+w.Namespace, deleteNow)
		}
	})
	w.runWith(access.Options{Config: w.configOf("controller")}, as("NAMESPACE/deployer", widgetRules("", configMapChild("a", "${self.metadata.name}-a"))))
	w.Create(widget("one", "value: x"))
	w.Is(widgets, "one", "Stalled", "True")
	w.saysOf(widgets, "Stalled", "Forbidden", "may not impersonate ServiceAccount "+w.Namespace+"/deployer; apply what `reconcel rbac` prints")

	w.Create(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: impersonate}
rules: [{apiGroups: [""], resources: [serviceaccounts], resourceNames: [deployer], verbs: [impersonate]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: impersonate}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: impersonate}
subjects: [{kind: ServiceAccount, name: controller, namespace: NAMESPACE}]
`)
	started := time.Now()
	w.Is(widgets, "one", "Ready", "True")
	if took := time.Since(started); took > time.Minute {
		t.Errorf("it took %s to heal", took)
	}
	w.Has(configs, "one-a", map[string]any{"data.value": "x"})
}

// configOf returns a client configuration with a token of a ServiceAccount.
func (w *world) configOf(account string) *rest.Config {
	w.Helper()
	request := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": map[string]any{"name": account},
	}}
	made, err := w.Resource(e2e.GVK("v1", "ServiceAccount")).Create(w.Context(), request, metav1.CreateOptions{}, "token")
	if err != nil {
		w.Fatal(err)
	}
	config := &rest.Config{Host: w.Cluster.Config().Host}
	config.CAData, config.CAFile = w.Cluster.Config().CAData, w.Cluster.Config().CAFile
	config.BearerToken, _, _ = unstructured.NestedString(made.Object, "status", "token")
	return config
}

// TestAccountInNoNamespace rejects an account in the primary's namespace if the primary
// is cluster-scoped.
func TestAccountInNoNamespace(t *testing.T) {
	w := newWorld(t)
	w.CRD(kindLike("Global", "scope: Namespaced", "scope: Cluster"))
	name := w.Namespace + "-lone"
	rule := strings.Replace(as("deployer", widgetRules("selector: {matchLabels: {lone: NAMESPACE}}", "")), "  children:\n", "  patch: {metadata: {labels: {touched: \"yes\"}}}\n", 1)
	w.run(strings.NewReplacer("kind: Widget", "kind: Global", "    namespaces: [NAMESPACE]\n", "").Replace(rule))
	w.Create(strings.Replace(widget(name, "value: x"), "kind: Widget\nmetadata: {", "kind: Global\nmetadata: {labels: {lone: NAMESPACE}, ", 1))
	t.Cleanup(func() { _ = w.Resource(globals).Delete(context.Background(), name, deleteNow) })
	w.Is(globals, name, "Stalled", "True")
	w.says(globals, name, "Stalled", "True", `serviceAccountName: "deployer" needs the namespace of the primary, which has none: write namespace/deployer`)
	if labels := w.Get(globals, name).GetLabels(); labels["touched"] != "" {
		t.Errorf("it was patched: %v", labels)
	}
}
