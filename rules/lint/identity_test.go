package lint

import (
	"strings"
	"testing"
)

var identities = inRule(`  allow: {namespaces: ["*"]}
  let:
    name: self.metadata.name + "-a"
  children:
  - id: first
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-a"}}
  - id: second
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-b"}}
  - id: third
    when: self.spec.a
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${name}"}}
  - id: fourth
    forEach: [{name: z, in: self.spec.zones}]
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-${z}"}}
  - id: fifth
    forEach: [{name: z, in: self.spec.regions}]
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-${z}"}}
`)

func TestSameObject(t *testing.T) {
	finds(t, SameObject, identities, []mistake{
		{"a copied child", `metadata: {name: "${self.metadata.name}-b"}`, `metadata: {name: "${self.metadata.name}-a"}`, "same kind, namespace and name, at rules.yaml:11:"},
		{"a let", `metadata: {name: "${self.metadata.name}-b"}`, `metadata: {name: "${name}"}`, "same kind"},
		{"the namespace", `metadata: {name: "${self.metadata.name}-b"}`, `metadata: {name: "${name}", namespace: "${self.metadata.namespace}"}`, "same kind"},
		{"another kind", `kind: ConfigMap, metadata: {name: "${self.metadata.name}-b"}`, `kind: Secret, metadata: {name: "${self.metadata.name}-b"}`, ""},
		{"the same list", "in: self.spec.regions}]\n    template", "in: self.spec.zones}]\n    template", "same kind"},
	})
}

func TestLiteralName(t *testing.T) {
	finds(t, LiteralName, identities, []mistake{
		{"a literal", `metadata: {name: "${self.metadata.name}-b"}`, "metadata: {name: config}", `every Web has a ConfigMap "config"`},
		{"a literal name of what can be made again", `metadata: {name: "${self.metadata.name}-b"}`, "metadata: {name: config}", "(such as ${self.metadata.name}-config)"},
		{"a literal name of what holds data", `kind: ConfigMap, metadata: {name: "${self.metadata.name}-b"}`,
			"kind: PersistentVolumeClaim, metadata: {name: config}", "in rules that run, a new name deletes the PersistentVolumeClaim with the data that it holds"},
		{"a literal let", `metadata: {name: "${self.metadata.name}-b"}`, `metadata: {name: "web", namespace: "${self.metadata.namespace}"}`, "literal-name"},
		{"another namespace", `metadata: {name: "${self.metadata.name}-b"}`, `metadata: {name: "web", namespace: "${self.metadata.name}"}`, ""},
		{"a cluster-scoped kind", `kind: ConfigMap, metadata: {name: "${self.metadata.name}-b"}`, "kind: Namespace, metadata: {name: web}", ""},
	})
}

func TestLiteralNameOfOneResource(t *testing.T) {
	sound := strings.Replace(inRule(`  let:
    only: name == "main"
    name: self.metadata.name
    some: self.spec.name == "main"
  children:
  - id: first
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}
`), "kind: Web}", "kind: Web, when: only}", 1)
	finds(t, LiteralName, sound, []mistake{
		{"a let that does not read the name", "when: only}\n  let:\n    only: name == \"main\"\n    name: self.metadata.name\n    some: self.spec.name == \"main\"\n  children:\n  - id: first\n    template: {apiVersion: v1, kind: ConfigMap",
			"when: some}\n  let:\n    only: name == \"main\"\n    name: self.metadata.name\n    some: self.spec.name == \"main\"\n  children:\n  - id: first\n    template: {apiVersion: v1, kind: ConfigMap", `every Web has a ConfigMap "config"`},
	})
}
