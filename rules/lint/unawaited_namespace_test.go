package lint

import "testing"

func TestUnawaitedNamespace(t *testing.T) {
	sound := inRule(`  allow: {clusterScoped: [{group: "", kind: Namespace}], namespaces: ["*"]}
  let:
    space: self.metadata.name + "-a"
    ready: isTrue(home, "Ready")
  lookups:
  - {id: settings, apiVersion: v1, kind: ConfigMap, name: "${home.metadata.name}"}
  children:
  - id: home
    template: {apiVersion: v1, kind: Namespace, metadata: {name: "${space}"}}
  - id: quota
    after: [home]
    template: {apiVersion: v1, kind: ResourceQuota, metadata: {name: quota, namespace: "${space}"}}
  - id: homes
    forEach: {z: self.spec.zones}
    template: {apiVersion: v1, kind: Namespace, metadata: {name: "${space}-${z}"}}
`)
	const admin = "    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: admin, namespace: \"${space}\"}}\n"
	finds(t, UnawaitedNamespace, sound, []mistake{
		{"nothing waits", "    after: [home]\n", "", `metadata.namespace: children[0] "home" creates this namespace, and nothing waits for it: the object is also created in a namespace of that name that others own (write after: [home])`},
		{"it reads the namespace", "    after: [home]\n", "    when: home.metadata.name != \"\"\n", ""},
		{"it reads a let that reads it", "    after: [home]\n", "    when: ready\n", ""},
		{"it reads a lookup that reads it", "    after: [home]\n", "    when: settings.data.x == \"y\"\n", ""},
		{"a text is no read", "    after: [home]\n", "    when: self.metadata.name != \"home\"\n", "children[0]"},
		{"it asks whether the namespace is wanted", "    after: [home]\n", "    when: included(home)\n", "children[0]"},
		{"it reads what may be absent", "    after: [home]\n", "    when: home.?metadata.?uid.hasValue()\n", "children[0]"},
		{"through another child", "  - id: homes\n", "  - id: admin\n    after: [quota]\n" + admin + "  - id: homes\n", ""},
		{"another child", "  - id: homes\n", "  - id: admin\n" + admin + "  - id: homes\n", "after: [home]"},
		{"the namespace is that of the primary", "  - id: homes\n", "  - id: admin\n    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: \"${self.metadata.name}\"}}\n  - id: homes\n", ""},
		{"a list", "    forEach: {z: self.spec.zones}\n", "    forEach: {z: self.spec.zones}\n    template: {apiVersion: v1, kind: ServiceAccount, metadata: {name: admin, namespace: \"${space}-${z}\"}}\n  - id: more\n    forEach: {z: self.spec.zones}\n", "children[3]"},
	})
}
