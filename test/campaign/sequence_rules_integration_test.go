//go:build integration

package campaign

import (
	"fmt"
	"strings"

	"reconcel/rules"
	rulesource "reconcel/rules/source"
)

// sequenceRules is a version of the rules of the sequences.
type sequenceRules struct {
	Version int  `json:"version"` // in an annotation
	Service bool `json:"service"` // a child of a kind that no other child has
	Second  bool `json:"second"`  // a child of the second rule
	Renamed bool `json:"renamed"` // another id of the children of forEach
	Invalid bool `json:"invalid"` // the text is not valid
}

// sequenceChildren are the children that exist in all versions of the rules. The pod has
// literal defaults, because the cluster in memory sets only some.
const sequenceChildren = `apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: RULE
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  allow: {clusterScoped: [{group: faults.reconcel.dev, kind: Crate}]}
  validate:
  - {expression: self.spec.size <= 3, message: spec.size must be at most 3}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${self.metadata.name}-config
        labels: ${self.spec.labels}
        annotations: {version: "VERSION", note: "${self.spec.?note}", team: "${self.metadata.?labels.?team}"}
      data: {value: "${self.spec.value}"}
  - id: ITEMS
    forEach: [{name: item, in: self.spec.items}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${self.metadata.name}-item-${item}"}
      data: {value: "${self.spec.value}"}
  - id: copies
    replicas: self.spec.copies
    onChange: apply
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {generateName: "${self.metadata.name}-copy-"}
      data: {value: "${self.spec.value}"}
  - id: app
    when: self.spec.app
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}-app"}
      spec:
        replicas: ${self.spec.size}
        selector: {matchLabels: {app: "${self.metadata.name}", tier: "${self.spec.tier}"}}
        template:
          metadata: {labels: {app: "${self.metadata.name}", tier: "${self.spec.tier}"}}
          spec:
            nodeSelector: ${self.spec.?place}
            terminationGracePeriodSeconds: 0
            dnsPolicy: ClusterFirst
            schedulerName: default-scheduler
            securityContext: {}
            containers:
            - name: app
              image: ${self.spec.image}
              imagePullPolicy: IfNotPresent
              terminationMessagePath: /dev/termination-log
              terminationMessagePolicy: File
              env: "${self.spec.env.map(e, {'name': e, 'value': e})}"
  - id: secret
    template: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-secret"}, stringData: {token: "${self.spec.token}"}}
  - id: frozen
    onChange: replace
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-frozen"}, immutable: true, data: {value: "${self.spec.frozen}"}}
  - id: shared
    when: self.spec.?shared.hasValue()
    ifExists: adopt
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-shared"}, data: {value: "${self.spec.shared}"}}
  - id: held
    when: self.spec.?held.hasValue()
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-held"}, data: {value: "${self.spec.held}"}}
  - id: crate
    when: self.spec.far
    template:
      apiVersion: faults.reconcel.dev/v1
      kind: Crate
      metadata: {name: "${self.metadata.namespace}-${self.metadata.name}"}
      spec: {value: "${self.spec.value}"}
`

// sequenceService is the child of sequenceRules.Service.
const sequenceService = `  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}-service"}
      spec:
        selector: {app: "${self.metadata.name}"}
        ports: [{port: "${self.spec.port}"}]
        internalTrafficPolicy: Cluster
        ipFamilyPolicy: SingleStack
        ipFamilies: [IPv4]
`

// sequenceMark is a rule that patches the same primaries.
const sequenceMark = `  status: {value: "${self.spec.value}", items: "${size(ITEMS)}"}
- name: RULE-mark
  for: {apiVersion: faults.reconcel.dev/v1, kind: Box, namespaces: ["RULE-*"]}
  patch: {metadata: {labels: {mark: "${self.spec.mark}"}, annotations: {example.com/note: "${self.spec.?note}"}}}
`

// sequenceSecond is the child of sequenceRules.Second.
const sequenceSecond = `  children:
  - id: second
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${self.metadata.name}-second"}, data: {mark: "${self.spec.mark}"}}
`

// text returns the rules file. The rules have this name, and are for the namespaces with
// this prefix.
func (r sequenceRules) text(name string) string {
	if r.Invalid {
		return strings.ReplaceAll(sequenceChildren, "self.spec.size <= 3", "self.spec.size <=")
	}
	text := sequenceChildren
	if r.Service {
		text += sequenceService
	}
	text += sequenceMark
	if r.Second {
		text += sequenceSecond
	}
	items := "items"
	if r.Renamed {
		items = "entries"
	}
	return strings.NewReplacer("RULE", name, "VERSION", fmt.Sprint(r.Version), "ITEMS", items).Replace(text)
}

// load compiles the rules.
func (r sequenceRules) load(name string) (*rules.Program, error) {
	return rules.Load([]rulesource.File{{Name: "rules.yaml", Data: []byte(r.text(name))}})
}

// initialSpec is the spec of a new primary. Only some fields may be absent: note, place,
// shared and held.
func initialSpec() map[string]any {
	return map[string]any{
		"value": "one", "labels": map[string]any{"tier": "one"}, "items": []any{"x", "y"}, "copies": int64(2), "app": true, "size": int64(1), "tier": "front",
		"image": "busybox:1", "env": []any{"A"}, "token": "t", "frozen": "f", "far": false, "port": int64(80), "mark": "m",
	}
}
