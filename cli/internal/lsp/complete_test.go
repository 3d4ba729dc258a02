package lsp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type suggestions struct {
	Items []struct {
		Label, Detail, Documentation string
		TextEdit                     struct{ NewText string }
	}
}

func (s suggestions) labels() (all []string) {
	for _, i := range s.Items {
		all = append(all, i.Label)
	}
	return all
}

// webs returns a folder with the CRD of Webs.
func webs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webs.example.com}
spec:
  group: example.com
  names: {kind: Web, plural: webs, singular: web, listKind: WebList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              image: {type: string, description: The image to run.}
              replicas: {type: integer, default: 1}
              mode: {type: string, enum: [Fast, Safe]}
              ports:
                type: array
                items:
                  type: object
                  properties:
                    name: {type: string}
                    number: {type: integer}
          status:
            type: object
            properties:
              ready: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	if err := os.WriteFile(filepath.Join(dir, "web-crd.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

const head = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: web
  for: {apiVersion: example.com/v1, kind: Web}
  let:
    labels: {app: "${self.metadata.name}"}
    first: self.spec.ports[0]
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: settings}
`

// defined is a rule with definitions.
var defined = strings.Replace(head, "rules:", "define:\n  registry: \"'example.com'\"\n  named(app string):\n    app: ${app}\nrules:", 1)

// child is a rule with a Deployment, which other lines follow.
const child = head + `  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
`

func TestCompletes(t *testing.T) {
	folder := webs(t)
	const workloads = "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: workloads\n  for:\n" +
		"  - {apiVersion: apps/v1, kind: Deployment}\n  - {apiVersion: apps/v1, kind: StatefulSet}\n"
	for _, c := range []struct {
		name, text string
		want, not  []string
	}{
		{"keys at the top", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nru‸", []string{"rules"}, []string{"kind"}},
		{"keys of the object", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nmetadata:\n  ‸\nrules: []\n", []string{"name", "namespace", "labels", "annotations"}, []string{"rules"}},
		{"keys of a rule", head + "  ‸", []string{"children", "status", "validate"}, []string{"let", "name", "template"}},
		{"keys of a child", child + "    ‸", []string{"readyWhen", "forEach"}, []string{"id", "template", "children"}},
		{"values of a key", child + "    onChange: ‸", []string{"apply", "replace", "keep"}, nil},
		{"ids in after", child + "  - id: other\n    after: [‸]", []string{"deployment"}, []string{"other"}},
		{"fields of a template", child + "      sp‸", []string{"spec"}, []string{"metadata", "status"}},
		{"nested fields", child + "      spec:\n        ‸", []string{"replicas", "selector", "template"}, []string{"containers"}},
		{"fields in a list", child + "      spec:\n        template:\n          spec:\n            containers:\n            - name: web\n              im‸", []string{"image", "imagePullPolicy"}, []string{"name", "containers"}},
		{"the first field of an item", child + "      spec:\n        template:\n          spec:\n            containers:\n            - ‸", []string{"image", "name"}, []string{"containers"}},
		{"fields between others", child + "      spec:\n        ‸\n        replicas: 1\n", []string{"selector"}, []string{"replicas"}},
		{"fields in braces", head + "  children:\n  - id: pod\n    template: {apiVersion: v1, kind: Pod, metadata: {name: x}, ‸}\n", []string{"spec"}, []string{"kind"}},
		{"keys of metadata", strings.Replace(child, `metadata: {name: "${self.metadata.name}"}`, "metadata:\n        ‸", 1), []string{"name", "labels"}, []string{"uid", "managedFields"}},
		{"kinds of a version", strings.Replace(child, "kind: Deployment", "kind: ‸", 1), []string{"Deployment", "StatefulSet"}, []string{"Pod"}},
		{"kinds of CRDs", strings.Replace(head, "kind: Web", "kind: ‸", 1), []string{"Web"}, []string{"Pod"}},
		{"fields of the status", head + "  status:\n    ‸", []string{"ready"}, []string{"conditions", "spec"}},
		{"fields of a patch", head + "  patch:\n    spec:\n      ‸", []string{"image", "mode"}, nil},
		{"fields of several kinds", workloads + "  status:\n    ready: ${self.spec.‸}", []string{"paused", "serviceName", "template"}, nil},
		{"nested fields of several kinds", workloads + "  status:\n    ready: ${self.status.‸}", []string{"readyReplicas", "unavailableReplicas", "currentRevision"}, nil},
		{"kinds of a lookup", workloads + "  lookups:\n  - id: other\n    kind: ‸", []string{"self", "Deployment"}, nil},
		{"fields of an object of the kind of self", workloads + "  children:\n  - id: copy\n    template:\n      kind: self\n      metadata: {name: x}\n      spec:\n        ‸", []string{"paused", "replicas"}, nil},
		{"fields of a patch for several kinds", workloads + "  patch:\n    spec:\n      ‸", []string{"paused", "replicas"}, nil},
		{"the selector of a rollout", head + "  rollout:\n    first:\n      ‸", []string{"matchLabels", "matchExpressions"}, []string{"first"}},
		{"keys of commonMetadata", head + "  commonMetadata:\n    ‸", []string{"labels", "annotations"}, []string{"name"}},
		{"values in commonMetadata", head + "  commonMetadata:\n    labels:\n      team: ${self.spec.‸}", []string{"image", "mode"}, nil},
		{"keys of one of several kinds", "apiVersion: reconcel.dev/v1alpha1\nkind: Rules\nrules:\n- name: workloads\n  for:\n  - apiVersion: apps/v1\n    ‸", []string{"kind", "when", "selector"}, []string{"apiVersion", "children"}},
		{"an enum in a patch", head + "  patch:\n    spec:\n      mode: ‸", []string{"Fast", "Safe"}, nil},
		{"the fields of self", child + "      spec:\n        replicas: ${self.spec.‸}", []string{"image", "replicas", "ports"}, []string{"self"}},
		{"an expression that is not closed", child + "      spec:\n        replicas: ${self.spec.re‸", []string{"replicas"}, nil},
		{"in quotes", child + "      spec:\n        replicas: \"${self.spec.‸}\"", []string{"replicas"}, nil},
		{"after an optional", head + "  status:\n    ready: ${self.?spec.‸}", []string{"replicas"}, nil},
		{"names", head + "  status:\n    ready: ${‸}", []string{"self", "labels", "first", "settings", "size", "has", "merge"}, []string{"child", "spec"}},
		{"definitions", defined + "  status:\n    ready: ${‸}", []string{"registry", "named"}, nil},
		{"definitions in for.when", strings.Replace(defined, "kind: Web}", "kind: Web, when: r‸}", 1), []string{"registry", "named"}, nil},
		{"names of children", child + "  status:\n    ready: ${dep‸}", []string{"deployment"}, nil},
		{"self and its lets in for.when", strings.Replace(head, "kind: Web}", "kind: Web, when: s‸}", 1), []string{"self", "labels", "first"}, []string{"settings"}},
		{"no let of a lookup in for.when", strings.Replace(strings.Replace(head, "kind: Web}", "kind: Web, when: f‸}", 1), "labels: {app", "tier: settings.data.tier\n    high: tier == \"1\"\n    labels: {app", 1), []string{"first"}, []string{"tier", "high"}},
		{"entries of the same map", strings.Replace(head, "first: self.spec.ports[0]", "db:\n      host: x\n      address: ${‸}", 1), []string{"host", "self", "settings"}, []string{"address"}},
		{"entries of another map", strings.Replace(head, "first: self.spec.ports[0]", "db: {host: x}\n    other:\n      url: ${‸}", 1), []string{"db"}, []string{"host"}},
		{"fields of a child", child + "  status:\n    ready: ${deployment.status.‸}", []string{"readyReplicas"}, nil},
		{"fields of a let", head + "  status:\n    ready: ${first.‸}", []string{"number"}, nil},
		{"fields of an element", head + "  status:\n    ready: ${self.spec.ports[0].‸}", []string{"number"}, nil},
		{"fields of a lookup", head + "  status:\n    ready: ${settings.‸}", []string{"data"}, nil},
		{"functions of children and time", child + "  status:\n    ready: ${‸}", []string{"previous", "existing", "elapsed", "cron"}, []string{"previous(deployment)"}},
		{"ids as arguments", child + "  status:\n    ready: ${size(previous(dep‸))}", []string{"deployment"}, nil},
		{"fields of what a child has now", child + "  status:\n    ready: ${previous(deployment)[0].status.‸}", []string{"readyReplicas"}, nil},
		{"fields of a gate's time", head + "  status:\n    ready: ${cron(\"0 3 * * *\", self.metadata.creationTimestamp).‸}", []string{"orValue", "hasValue"}, []string{"split"}},
		{"methods of a text", head + "  status:\n    ready: ${self.spec.image.‸}", []string{"split", "startsWith"}, []string{"spec"}},
		{"functions of a namespace", head + "  status:\n    ready: ${regex.‸}", []string{"extract", "extractAll", "replace"}, []string{"split", "regex.extract"}},
		{"a namespace", head + "  status:\n    ready: ${ya‸}", []string{"yaml.unmarshal"}, nil},
		{"macros of a list", head + "  status:\n    ready: ${self.spec.ports.‸}", []string{"map", "filter", "all", "join"}, []string{"split"}},
		{"the name of a macro", head + "  status:\n    ready: ${self.spec.ports.map(p, p.‸)}", []string{"number"}, nil},
		{"the name of forEach", head + "  children:\n  - id: each1\n    forEach: [{name: port, in: self.spec.ports}]\n    template:\n      apiVersion: v1\n      kind: Service\n      metadata: {name: \"${port.‸}\"}\n", []string{"number"}, nil},
		{"the list of forEach as a map", head + "  children:\n  - id: each1\n    forEach: {port: self.spec.‸}\n", []string{"ports"}, nil},
		{"the name of forEach in a condition", head + "  conditions:\n  - type: Up\n    when: true\n  - forEach: {port: self.spec.ports}\n    type: Port-${port.number}\n    when: port.‸\n", []string{"number"}, nil},
		{"the name of forEach in a type", head + "  conditions:\n  - forEach: {port: self.spec.ports}\n    when: true\n    type: Port-${port.‸}\n", []string{"number"}, nil},
		{"the list of a condition's forEach", head + "  conditions:\n  - forEach: {port: self.spec.‸}\n", []string{"ports"}, nil},
		{"keys of a condition", head + "  conditions:\n  - type: Up\n    ‸", []string{"forEach", "when", "message"}, []string{"type", "template"}},
		{"child in readyWhen", child + "    readyWhen: child.status.‸", []string{"readyReplicas"}, nil},
		{"a bare expression", head + "  validate:\n  - expression: self.spec.‸", []string{"image"}, nil},
		{"a block of text", head + "  validate:\n  - expression: |\n      self.spec.replicas > 0 &&\n      self.spec.‸\n    message: no\n", []string{"image"}, nil},
		{"a file with errors elsewhere", child + "      spec:\n        replicas: ${self.spec.‸}\n   wrong: [\n", []string{"image"}, nil},
		{"nothing in a string", head + "  status:\n    ready: ${self.spec.image == \"‸\"}", nil, []string{"self"}},
		{"nothing in other files", "apiVersion: v1\nkind: ConfigMap\n‸", nil, []string{"rules"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := at[suggestions](t, "textDocument/completion", folder, c.text).labels()
			for _, label := range c.want {
				if !slices.Contains(got, label) {
					t.Errorf("%s is not suggested, only %q", label, got)
				}
			}
			for _, label := range c.not {
				if slices.Contains(got, label) {
					t.Errorf("%s is suggested", label)
				}
			}
		})
	}
}

// TestCompletesWhileTyping types a line after a text that is valid, with a change for each
// key, as editors do.
func TestCompletesWhileTyping(t *testing.T) {
	folder := webs(t)
	c := open(t, folder, child)
	line, column := strings.Count(child, "\n"), 0
	for i, r := range "      spec: {replicas: \"${self.spec." {
		at := object{"line": line, "character": column}
		c.notify("textDocument/didChange", object{
			"textDocument":   object{"uri": c.uri(folder), "version": i + 1},
			"contentChanges": []object{{"range": object{"start": at, "end": at}, "text": string(r)}},
		})
		column++
	}
	got := decode[suggestions](t, c.call("textDocument/completion", object{"textDocument": object{"uri": c.uri(folder)}, "position": object{"line": line, "character": column}}))
	if !slices.Contains(got.labels(), "image") {
		t.Errorf("image is not suggested, only %q", got.labels())
	}
}

func TestSuggestsWhatToInsert(t *testing.T) {
	got := at[suggestions](t, "textDocument/completion", webs(t), head+"  patch:\n    spec:\n      ‸")
	for _, i := range got.Items {
		if i.Label == "image" {
			if i.Detail != "string" || i.Documentation != "The image to run." || i.TextEdit.NewText != "image: " {
				t.Errorf("got %+v", i)
			}
			return
		}
	}
	t.Errorf("no image in %q", got.labels())
}
