package lint

import "testing"

var service = inRule(`  let:
    labels: {app: web, instance: "${self.metadata.name}"}
    tier: '"front"'
  children:
  - id: web
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata: {name: "${self.metadata.name}"}
      spec:
        selector:
          matchLabels: {app: web, tier: "${tier}"}
        template:
          metadata:
            labels:
              app: web
              tier: front
              instance: ${self.metadata.name}
          spec: {containers: [{name: web, image: web}]}
  - id: worker
    template:
      apiVersion: apps/v1
      kind: StatefulSet
      metadata: {name: "${self.metadata.name}-worker"}
      spec:
        selector:
          matchLabels: ${labels}
        template:
          metadata:
            labels: ${labels}
          spec: {containers: [{name: web, image: web}]}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}"}
      spec:
        selector: {app: web, instance: "${self.metadata.name}"}
        ports: [{port: 80}]
  - id: budget
    template:
      apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {matchLabels: {tier: front}}, minAvailable: 1}
`)

func TestSelectorLabels(t *testing.T) {
	finds(t, SelectorLabels, service, []mistake{
		{"another value", "matchLabels: {app: web,", "matchLabels: {app: wbe,", "template.spec.template.metadata.labels.app is web"},
		{"another key", "matchLabels: {app: web,", "matchLabels: {ap: web,", "add it to template.spec.template.metadata.labels"},
		{"a text with a let", "tier: \"${tier}\"", "tier: \"${tier}s\"", "labels.tier is front"},
		{"a literal over a let", "matchLabels: ${labels}", "matchLabels: {app: worker}", "labels.app is web"},
		{"a let over a literal", "labels: ${labels}\n          spec", "labels: {app: worker}\n          spec", "labels.app is worker"},
		{"a let over nothing", "labels: ${labels}\n          spec", "annotations: ${labels}\n          spec", "no Pod has this label"},
		{"unknown labels", "labels: ${labels}\n          spec", "labels: ${merge(labels, self.spec.labels)}\n          spec", ""},
		{"an unknown value", "matchLabels: ${labels}", "matchLabels: {app: \"${self.metadata.namespace}\"}", ""},
	})
}

func TestSelectorNoPod(t *testing.T) {
	finds(t, SelectorNoPod, service, []mistake{
		{"a Service", "selector: {app: web, inst", "selector: {name: web, inst", "selector.name: no Pod of the rules for Web has this label, so the Service selects none"},
		{"a value", "selector: {app: web, inst", "selector: {app: wbe, inst", "selector.app: no Pod"},
		{"a budget", "matchLabels: {tier: front}", "matchLabels: {tire: front}", "PodDisruptionBudget selects none"},
		{"labels of two Pods", "selector: {app: web, inst", "selector: {tier: back, inst", "selector.tier"},
		{"an unknown value", "selector: {app: web, inst", "selector: {app: \"${self.spec.app}\", inst", ""},
		{"an unknown selector", "selector: {app: web, instance: \"${self.metadata.name}\"}", "selector: ${self.spec.labels}", ""},
	})
}

// TestSelectorOfCommonLabel selects Pods that are children by a label of all children.
func TestSelectorOfCommonLabel(t *testing.T) {
	finds(t, SelectorNoPod, inRule(`  commonMetadata: {labels: {team: a}}
  children:
  - id: pod
    onChange: replace
    template:
      apiVersion: v1
      kind: Pod
      metadata: {name: "${self.metadata.name}"}
      spec: {containers: [{name: web, image: web}]}
  - id: service
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${self.metadata.name}"}
      spec: {selector: {team: a}, ports: [{port: 80}]}
`), []mistake{
		{"another value", "selector: {team: a}", "selector: {team: b}", "selector.team: no Pod of the rules for Web has this label"},
		{"another label", "selector: {team: a}", "selector: {tema: a}", "selector.tema: no Pod of the rules for Web has this label"},
	})
}
