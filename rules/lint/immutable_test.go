package lint

import "testing"

var changing = inRule(`  allow:
    namespaces: [team-*]
    read: {namespaces: [shared]}
  let:
    tier: self.spec.tier
  lookups:
  - {id: defaults, apiVersion: v1, kind: ConfigMap, name: defaults, namespace: shared}
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web, tier: "${tier}"}}
          spec: {containers: [{name: web, image: "${self.spec.image}"}]}
  - id: job
    onChange: replace
    template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: "${self.metadata.name}"}
      spec: {template: {spec: {restartPolicy: Never, containers: [{name: work, image: "${self.spec.image}"}]}}}
  - id: claim
    template:
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: "${self.metadata.name}"}
      spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: "${self.spec.size}"}}}
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}", namespace: team-a}}
`)

func TestImmutableField(t *testing.T) {
	finds(t, ImmutableField, changing, []mistake{
		{"a selector", "matchLabels: {app: web}", `matchLabels: {app: web, tier: "${self.spec.tier}"}`, "template.spec.selector: follows the spec of the Web"},
		{"a let", "matchLabels: {app: web}", `matchLabels: {app: web, tier: "${tier}"}`, "template.spec.selector"},
		{"a Job", "    onChange: replace\n    template:\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: \"${self.metadata.name}\"}\n      spec: {",
			"    template:\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: \"${self.metadata.name}\"}\n      spec: {", "set onChange to replace or keep"},
		{"a class", "storageClassName: fast", "storageClassName: \"${self.spec.class}\"", "storageClassName"},
		{"another object", "    onChange: replace\n    template:\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: \"${self.metadata.name}\"}",
			"    template:\n      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: \"${self.metadata.name}-${self.spec.version}\"}", ""},
	})
}

func TestForeignNamespace(t *testing.T) {
	finds(t, ForeignNamespace, changing, []mistake{
		{"a child", "namespace: team-a", "namespace: taem-a", "add allow: {namespaces: [taem-a]}"},
		{"a lookup", "namespace: shared}", "namespace: default}", "add allow: {read: {namespaces: [default]}}"},
		{"an expression, with allow", "namespace: team-a", "namespace: \"${self.spec.team}\"", ""},
		{"the own namespace", "namespace: team-a", "namespace: \"${self.metadata.namespace}\"", ""},
	})
	finds(t, ForeignNamespace, withoutAllow, []mistake{
		{"a name", "${self.metadata.namespace}", "${self.metadata.name}", `add allow: {namespaces: ["*"]}`},
		{"a let", "${self.metadata.namespace}", "${team}", `add allow: {namespaces: ["*"]}`},
		{"an optional namespace", "${self.metadata.namespace}", "${self.metadata.?namespace}", ""},
		{"all namespaces", "apiVersion: v1, kind: Secret,", `apiVersion: v1, kind: Secret, namespace: "",`, `add allow: {read: {namespaces: ["*"]}}`},
	})
}

var withoutAllow = inRule(`  let:
    team: '"team-" + self.spec.team'
  lookups:
  - {id: keys, apiVersion: v1, kind: Secret, selector: {matchLabels: {app: web}}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}", namespace: "${self.metadata.namespace}"}}
`)
