package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"reconcel/cli/internal/exit"
	"reconcel/cli/internal/files"
	"reconcel/cli/internal/judge"
	"reconcel/cli/internal/rulewatch"
	"reconcel/rules"
)

// judgeCRD is the only custom kind of these tests.
const judgeCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [name, size, tags]
            properties:
              name: {type: string}
              size: {type: integer}
              tags: {type: array, items: {type: string}}
          status:
            type: object
            properties:
              size: {type: integer}
              conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}}}}
`

const widget = "for: {apiVersion: example.com/v1, kind: Widget}"

// wrongRules are rules with one mistake each. A text that begins with "apiVersion" is a
// whole file, any other is the only entry of rules.
var wrongRules = []struct {
	name string
	text string
	args []string // flags that set how strict the validation is
}{
	{name: "no YAML", text: "name: a\n  " + widget + "]"},
	{name: "another apiVersion", text: "apiVersion: reconcel.dev/v9\nkind: Rules\nrules: []\n"},
	{name: "another kind", text: "apiVersion: reconcel.dev/v1alpha1\nkind: Rule\nrules: []\n"},
	{name: "no rules", text: "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\n"},
	{name: "an unknown key", text: "{name: a, " + widget + ", chidren: []}"},
	{name: "a missing key", text: "{" + widget + "}"},
	{name: "a bad name", text: "{name: A!, " + widget + "}"},
	{name: "a name twice", text: "{name: a, " + widget + "}\n- {name: a, " + widget + "}"},
	{name: "a bad duration", text: "{name: a, " + widget + ", requeueAfter: 5 minutes}"},
	{name: "a duration that is too short", text: "{name: a, " + widget + ", requeueAfter: 1ms}"},
	{name: "a bad selector", text: "{name: a, for: {apiVersion: example.com/v1, kind: Widget, selector: {matchLabels: {a b: c}}}}"},
	{name: "a bad namespace", text: "{name: a, for: {apiVersion: example.com/v1, kind: Widget, namespaces: [Team]}}"},
	{name: "a bad account", text: "{name: a, " + widget + ", serviceAccountName: a/b/c}"},
	{name: "an unknown word", text: "{name: a, " + widget + ", teardown: sideways}"},
	{name: "no CEL", text: `{name: a, ` + widget + `, status: {size: "${self.spec.}"}}`},
	{name: "an unknown name", text: `{name: a, ` + widget + `, status: {size: "${slef.spec.size}"}}`},
	{name: "an unknown function", text: `{name: a, ` + widget + `, status: {size: "${sizeOf(self)}"}}`},
	{name: "when that is no boolean", text: `{name: a, for: {apiVersion: example.com/v1, kind: Widget, when: "1 + 1"}}`},
	{name: "children that wait for each other", text: `{name: a, ` + widget + `, children: [` +
		`{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {k: "${y.data.k}"}}}, ` +
		`{id: y, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: y}, data: {k: "${x.data.k}"}}}]}`},
	{name: "lets that need each other", text: `{name: a, ` + widget + `, let: {x: "${y}", y: "${x}"}}`},
	{name: "an id twice", text: `{name: a, ` + widget + `, children: [{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}, ` +
		`{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: y}}}]}`},
	{name: "after an unknown child", text: `{name: a, ` + widget + `, children: [{id: x, after: [y], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}`},
	{name: "an iterator that the name lacks", text: `{name: a, ` + widget + `, children: [{id: x, forEach: [{tag: "${self.spec.tags}"}], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]}`},
	{name: "a template without a kind", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: v1, metadata: {name: x}}}]}"},
	{name: "status that two rules write", text: `{name: a, ` + widget + `, status: {size: 1}}` + "\n" + `- {name: b, ` + widget + `, status: {size: 2}}`},
	{name: "two versions of a kind", text: "{name: a, " + widget + "}\n- {name: b, for: {apiVersion: example.com/v2, kind: Widget}}"},
	{name: "an unknown field of the primary", text: `{name: a, ` + widget + `, status: {size: "${self.spec.sise}"}}`},
	{name: "another type in status", text: `{name: a, ` + widget + `, status: {size: "${self.spec.name}"}}`},
	{name: "another type in a template", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}'}, data: {k: 1}}}]}"},
	{name: "an unknown field of a template", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}'}, dta: {}}}]}"},
	{name: "a required field is missing", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${self.metadata.name}'}, spec: {replicas: 1}}}]}"},
	{name: "an unknown kind", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: apps/v1, kind: Deploymnt, metadata: {name: x}}}]}"},
	{name: "a cluster-scoped child", text: "{name: a, " + widget + ", children: [{id: x, template: {apiVersion: v1, kind: Namespace, metadata: {name: x}}}]}"},
	{name: "a namespaced kind in clusterScoped", text: `{name: a, ` + widget + `, allow: {clusterScoped: [{group: "", kind: ConfigMap}]}}`},
	{name: "a privileged child", text: `{name: a, ` + widget + `, allow: {clusterScoped: [{group: rbac.authorization.k8s.io, kind: ClusterRole}]}, ` +
		`children: [{id: x, template: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: x}}}]}`},
	{name: "a privileged child beside an allowed kind", text: `{name: a, ` + widget + `, allow: {clusterScoped: [{group: "", kind: Node}]}, ` +
		`children: [{id: x, template: {apiVersion: v1, kind: Node, metadata: {name: x}}}]}`, args: []string{"--allow-kind=ClusterRole.rbac.authorization.k8s.io"}},
	{name: "a child in another namespace", text: "{name: a, " + widget + ", allow: {namespaces: [prod]}, children: [{id: x, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${self.metadata.name}', namespace: prod}}}]}",
		args: []string{"--namespaced=team-a,team-b"}},
	{name: "a cluster-scoped primary in some namespaces", text: "{name: a, for: {apiVersion: v1, kind: Namespace}}", args: []string{"--namespaced=team-a"}},
	{name: "a lookup in another namespace", text: "{name: a, " + widget + ", allow: {read: {namespaces: [prod]}}, lookups: [{id: x, apiVersion: v1, kind: ConfigMap, namespace: prod, name: x}]}",
		args: []string{"--namespaced=team-a"}},
}

// TestAllCommandsJudgeAlike expects every command, and a reload, to reject the same rules
// with the same messages at the same positions.
func TestAllCommandsJudgeAlike(t *testing.T) {
	kubeconfig := clusterWith(t, judgeCRD)
	for _, c := range wrongRules {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			in := func(name string) string { return filepath.Join(folder, name) }
			text := c.text
			if !strings.HasPrefix(text, "apiVersion") {
				text = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- " + text + "\n"
			}
			put(t, in("rules.yaml"), text)
			put(t, in("crd.yaml"), judgeCRD)
			put(t, in("widget.yaml"), "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {name: a, size: 1, tags: []}}")
			put(t, in("tests.yaml"), "cases: [{name: a, given: widget.yaml, steps: [{then: {count: {ConfigMap: 0}}}]}]")
			rules, crd := []string{"-f", in("rules.yaml")}, []string{"--crd", in("crd.yaml")}
			cluster := []string{"--kubeconfig", kubeconfig}
			want, code := complaints(t, "validate", rules, crd, c.args)
			if len(want) == 0 || code != exit.No {
				t.Fatalf("validate accepts the rules, exit code %d", code)
			}
			for command, args := range map[string][][]string{
				"run":       {rules, cluster, {"--listen", "off"}},
				"diff":      {rules, cluster},
				"render":    {rules, crd, {"-r", in("widget.yaml")}},
				"test":      {{in("tests.yaml")}},
				"rbac":      {rules, crd},
				"manifests": {rules, crd},
			} {
				got, code := complaints(t, command, append(args, c.args)...)
				wantCode := exit.No
				if command == "diff" {
					wantCode = exit.Failed // 1 means that there are differences.
				}
				if diff := cmp.Diff(want, got); diff != "" || code != wantCode {
					t.Errorf("%s: exit code %d, want %d; complaints (-validate +%[1]s):\n%[4]s", command, code, wantCode, diff)
				}
			}
			if diff := cmp.Diff(want, reloadComplaints(t, in("rules.yaml"), kubeconfig, c.args)); diff != "" {
				t.Errorf("reload: complaints (-validate +reload):\n%s", diff)
			}
		})
	}
}

// complaint is the first line of an error about rules.
var complaint = regexp.MustCompile(`(?m)^.*\.yaml:\d+:\d+: .*$`)

// complaints runs a command, and returns its errors about rules and its exit code.
// Errors in a log have no severity.
func complaints(t *testing.T, command string, args ...[]string) (lines []string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr}
	all := []string{command}
	for _, some := range args {
		all = append(all, some...)
	}
	code = a.main(all)
	for _, line := range complaint.FindAllString(stdout.String()+stderr.String(), -1) {
		line = crdRemedy.ReplaceAllString(line, "")
		lines = append(lines, strings.Replace(line, ": error: ", ": ", 1))
	}
	return lines, code
}

// crdRemedy is the part of a hint that names the file of a CRD, which only commands without a cluster have.
var crdRemedy = regexp.MustCompile(" If it is new, `reconcel crd [^`]*` adds it to the CRD")

// reloadComplaints returns the errors of run after a reload of a file.
func reloadComplaints(t *testing.T, file, kubeconfig string, args []string) []string {
	t.Helper()
	s := &runFlags{}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	s.flags(flags)
	if err := flags.Parse(append([]string{"--kubeconfig", kubeconfig}, args...)); err != nil {
		t.Fatal(err)
	}
	config, _, err := s.connect(rest.NoWarnings{})
	if err != nil {
		t.Fatal(err)
	}
	validator := &rulewatch.Validator{Config: config, Policy: s.policy(), Log: slog.New(slog.DiscardHandler)}
	read, unread := files.Reader{}.Rules([]string{file})
	loaded := rules.Compile(read, unread...)
	if err = judge.Of(loaded, nil, s.policy()).Err(); err == nil {
		err = validator.Check(t.Context(), loaded)
	}
	if err == nil {
		return nil
	}
	return complaint.FindAllString(err.Error(), -1)
}

// clusterWith serves the schema of a CRD as an API server does, and returns a kubeconfig
// for it.
func clusterWith(t *testing.T, crd string) string {
	t.Helper()
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(crd), &definition); err != nil {
		t.Fatal(err)
	}
	kind := map[string]any{"group": "example.com", "version": "v1", "kind": "Widget"}
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	schema["x-kubernetes-group-version-kind"] = []any{kind}
	get := map[string]any{"get": map[string]any{"x-kubernetes-group-version-kind": kind}}
	path := "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"
	properties := schema["properties"].(map[string]any)
	properties["apiVersion"], properties["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
	properties["metadata"] = map[string]any{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
	answers := map[string]any{
		"/openapi/v3": map[string]any{"paths": map[string]any{"apis/example.com/v1": map[string]any{"serverRelativeURL": "/openapi/v3/apis/example.com/v1"}}},
		"/openapi/v3/apis/example.com/v1": map[string]any{
			"paths":      map[string]any{path: get, path + "/status": get},
			"components": map[string]any{"schemas": map[string]any{"com.example.v1.Widget": schema}},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			lacks(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: \"" + server.URL + "\"}}], " +
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], current-context: c}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// lacks answers that a ConfigMap does not exist, as the API server does. It knows nothing of other paths.
func lacks(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.URL.Path, "/configmaps/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
}
