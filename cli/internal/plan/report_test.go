package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/change"
	"reconcel/engine/outcome"
	"reconcel/rules"
)

// configured is a change of the image of a Deployment.
func configured(i int, key, before, after string) change.Change {
	content := func(image string) map[string]any {
		return map[string]any{"spec": map[string]any{"template": map[string]any{key: image}}}
	}
	return change.Change{
		Primary: change.Object{APIVersion: "example.com/v1", Kind: "Web", Namespace: "n", Name: fmt.Sprint("w", i)}, Rule: "web", Child: "app", Action: outcome.Configured,
		Object: change.Object{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: fmt.Sprint("d", i)}, Before: content(before), After: content(after),
	}
}

// TestGroups adds equal changes of many objects to one group, and bounds the number of groups.
func TestGroups(t *testing.T) {
	b := newBuilder()
	for i := range 400 {
		b.add(result{Primary: &change.Primary{Changes: []change.Change{configured(i, "image", "nginx:1.27", "nginx:1.29")}}})
	}
	for i := range 12 {
		b.add(result{Primary: &change.Primary{Changes: []change.Change{configured(400+i, "image", "nginx:1.26", "nginx:1.29")}}})
	}
	r := b.finish()
	text := string(r.Text())
	for _, want := range []string{
		"412 Deployment configured, which restarts Pods (rule web, child app)",
		"spec.template.image: nginx:1.27 → nginx:1.29 (400); nginx:1.26 → nginx:1.29 (12)", "n/d0, n/d1, n/d2,", " and 392 more", "+    image: nginx:1.29",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if len(r.Risks) != 1 || r.Kinds[0].Configured != 412 || r.Resources.Changed != 412 {
		t.Errorf("%d risks, %+v, %+v", len(r.Risks), r.Kinds[0], r.Resources)
	}
	b = newBuilder()
	for i := range 3 * mostGroups {
		b.add(result{Primary: &change.Primary{Changes: []change.Change{configured(i, fmt.Sprint("key", i), "a", "b")}}})
	}
	if r := b.finish(); len(r.Risks) > mostGroups+1 || r.Kinds[0].Configured != 3*mostGroups || len(r.Markdown()) > mostMarkdown+5000 {
		t.Errorf("%d groups, %d objects, %d bytes of Markdown", len(r.Risks), r.Kinds[0].Configured, len(r.Markdown()))
	}
}

func TestRisks(t *testing.T) {
	deleted := func(apiVersion, kind string) change.Change {
		return change.Change{Action: outcome.Deleted, Object: change.Object{APIVersion: apiVersion, Kind: kind}}
	}
	paused := configured(0, "image", "a", "b")
	paused.After["spec"].(map[string]any)["paused"] = true
	scaled := configured(0, "image", "a", "a")
	later := deleted("v1", "PersistentVolumeClaim")
	later.Action, later.Later = outcome.Skipped, outcome.Deleted
	service := func(before, after string) change.Change {
		c := change.Change{Action: outcome.Configured, Object: change.Object{APIVersion: "v1", Kind: "Service"}}
		if err := errors.Join(yaml.Unmarshal([]byte("spec: "+before), &c.Before), yaml.Unmarshal([]byte("spec: "+after), &c.After)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for name, test := range map[string]struct {
		change change.Change
		want   Risk
	}{
		"a claim":                     {deleted("v1", "PersistentVolumeClaim"), DeletesData},
		"a claim, in a later step":    {later, DeletesData},
		"a custom resource":           {deleted("example.com/v1", "Database"), DeletesData},
		"a Deployment":                {deleted("apps/v1", "Deployment"), StopsPods},
		"a Service":                   {deleted("v1", "Service"), CutsTraffic},
		"an Ingress":                  {deleted("networking.k8s.io/v1", "Ingress"), CutsTraffic},
		"a ServiceAccount":            {deleted("v1", "ServiceAccount"), ""},
		"a selector":                  {service(`{selector: {app: a}}`, `{selector: {app: b}}`), CutsTraffic},
		"a selector more":             {service(`{ports: [{port: 80}]}`, `{selector: {app: b}, ports: [{port: 80}]}`), CutsTraffic},
		"a selector less":             {service(`{selector: {app: a}}`, `{}`), CutsTraffic},
		"a port":                      {service(`{ports: [{name: http, port: 80}]}`, `{ports: [{name: http, port: 81}]}`), CutsTraffic},
		"a port's name":               {service(`{ports: [{name: http, port: 80}]}`, `{ports: [{name: web, port: 80}]}`), CutsTraffic},
		"a port's target":             {service(`{ports: [{port: 80, targetPort: 80}]}`, `{ports: [{port: 80, targetPort: web}]}`), CutsTraffic},
		"a port more":                 {service(`{ports: [{port: 80}]}`, `{ports: [{port: 81}, {port: 80}]}`), ""},
		"a type":                      {service(`{type: LoadBalancer}`, `{type: ClusterIP}`), CutsTraffic},
		"a field more":                {service(`{type: ClusterIP}`, `{type: ClusterIP, sessionAffinity: ClientIP}`), ""},
		"labels of a Service":         {service(`{selector: {app: a}}`, `{selector: {app: a}}`), ""},
		"a template":                  {configured(0, "image", "a", "b"), RestartsPods},
		"a template while paused":     {paused, ""},
		"another field":               {scaled, ""},
		"a replacement of any object": {change.Change{Action: outcome.Replaced, Object: change.Object{APIVersion: "v1", Kind: "Service"}}, Replaces},
	} {
		if got := riskOf(&test.change); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// driftedWebApp is a fleet of one WebApp with a Service that another client has changed.
func driftedWebApp(t *testing.T, before *rules.Loaded) *fleet {
	f := newFleet(t, before.Program,
		"{apiVersion: platform.example.com/v1alpha1, kind: WebApp, metadata: {name: a, namespace: team}, spec: {image: 'web:1', replicas: 2, service: {port: 80}}}")
	services := f.Cluster().Client("user").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("team")
	if _, err := services.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"selector":{"app.kubernetes.io/name":"x"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// editedWebApp has another condition, another kind and one field more.
func editedWebApp(text string) string {
	return strings.NewReplacer("- type: Available", "- type: Serving", "    ignoreFields: [spec.replicas]\n", "",
		"  status:\n", "  - id: account\n    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}\n  status:\n").Replace(text)
}

func TestReport(t *testing.T) {
	text := readText(t, examples+"/webapp/rules.yaml")
	before := loadTexts(t, map[string]string{"webapp": text})
	f := driftedWebApp(t, before)
	o := f.options(loadTexts(t, map[string]string{"webapp": editedWebApp(text)}))
	o.Against, o.AgainstName = before, "main/rules"
	r := f.plan(o)
	if r.Against != "main/rules" || r.Already != 1 || len(r.Notes) > 0 {
		t.Errorf("against %s, %d changes are made already, notes %q", r.Against, r.Already, r.Notes)
	}
	const group = "platform.example.com/v1alpha1"
	for _, diff := range []string{
		cmp.Diff(&RulesChange{Changed: []string{"webapp"}}, r.Rules),
		cmp.Diff([]ConditionChange{{group, "WebApp", "Available", "True", "", 1}, {group, "WebApp", "Serving", "", "True", 1}}, r.Conditions),
		cmp.Diff(&Permissions{Added: []string{"get,list,watch,create,patch,delete serviceaccounts"}}, r.Permissions),
		cmp.Diff([]string{"ServiceAccount (v1): child"}, r.NewKinds),
	} {
		if diff != "" {
			t.Error(diff)
		}
	}
}

// TestRunningRules finds the running rules: by their text, or else by their
// digests.
func TestRunningRules(t *testing.T) {
	text := readText(t, examples+"/webapp/rules.yaml")
	f := driftedWebApp(t, loadTexts(t, map[string]string{"webapp": text}))
	o := f.options(loadTexts(t, map[string]string{"webapp": editedWebApp(text)}))
	check := func(against string, already int) {
		t.Helper()
		r := f.plan(o)
		if r.Against != against || r.Already != already || len(r.Notes) > 0 {
			t.Errorf("against %q, %d already, notes %q", r.Against, r.Already, r.Notes)
		}
		if diff := cmp.Diff(&RulesChange{Changed: []string{"webapp"}}, r.Rules); diff != "" {
			t.Error(diff)
		}
	}
	check("the rules that run", 1)
	configMaps := f.Cluster().Client("user").Resource(runtimeschema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("kube-system")
	if err := configMaps.Delete(t.Context(), "reconcel-revisions", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("the live state, and the digests of the running rules", 0)
}

// TestSelectorsAreARisk changes the labels of all WebApps: the Services select other Pods at once, while the
// Deployments, whose selectors cannot change, keep theirs. One resource after another would show it.
func TestSelectorsAreARisk(t *testing.T) {
	text := readText(t, examples+"/webapp/rules.yaml")
	before := loadTexts(t, map[string]string{"webapp": text})
	var objects []string
	for i := range 3 {
		objects = append(objects, fmt.Sprintf("{apiVersion: platform.example.com/v1alpha1, kind: WebApp, metadata: {name: a%d, namespace: team}, "+
			"spec: {image: 'web:1', replicas: 2, service: {port: 80}}}", i))
	}
	f := newFleet(t, before.Program, objects...)
	edited := strings.ReplaceAll(text, "app.kubernetes.io/name: webapp", "app.kubernetes.io/name: site")
	check := func(text string, proposals int) {
		t.Helper()
		r := f.plan(f.options(loadTexts(t, map[string]string{"webapp": text})))
		found := false
		for _, g := range r.Risks {
			found = found || g.Kind == "Service" && g.Risk == CutsTraffic && g.Count == 3 && strings.Contains(g.Diff, "+")
		}
		if !found || !strings.Contains(string(r.Text()), "3 Service configured, which may cut off traffic (rule webapp, child service)") {
			t.Errorf("the selectors are no risk:\n%s", r.Text())
		}
		if n := strings.Count(string(r.Text()), "for 3 resources at once; rollout: {maxUnavailable: 1}"); n != proposals {
			t.Errorf("%d proposals of a rollout, want %d:\n%s", n, proposals, r.Text())
		}
	}
	check(edited, 1)
	check(strings.Replace(edited, "- name: webapp\n", "- name: webapp\n  rollout: {maxUnavailable: 1}\n", 1), 0)
}

// TestEndOfOrphansIsARisk removes onDelete: orphan. The objects stay, until their resource is deleted.
func TestEndOfOrphansIsARisk(t *testing.T) {
	const kept = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: webapp
  for: {apiVersion: platform.example.com/v1alpha1, kind: WebApp}
  children:
  - id: data
    onDelete: orphan
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-data"}}
`
	before := loadTexts(t, map[string]string{"webapp": kept})
	f := newFleet(t, before.Program,
		"{apiVersion: platform.example.com/v1alpha1, kind: WebApp, metadata: {name: a, namespace: team}, spec: {image: 'web:1', replicas: 2, service: {port: 80}}}")
	after := strings.Replace(kept, "    onDelete: orphan\n", "", 1)
	for text, want := range map[string]bool{after: true, kept: false} {
		r := f.plan(f.options(loadTexts(t, map[string]string{"webapp": text})))
		said := strings.Contains(string(r.Text()), "1 ConfigMap configured, which is no longer kept when its resource is deleted (rule webapp, child data)")
		if said != want || len(r.Risks) > 1 {
			t.Errorf("the risk is told: %v, want %v:\n%s", said, want, r.Text())
		}
	}
}
