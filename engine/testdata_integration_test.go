//go:build integration

package engine_test

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.reconcel.dev}
spec:
  group: test.reconcel.dev
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
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
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    observedGeneration: {type: integer, format: int64}
                    lastTransitionTime: {type: string, format: date-time}
`

// fooRules are the rules of examples/foo, limited to one namespace and with a unique
// name.
const fooRules = `
apiVersion: reconcel.dev/v1alpha1
kind: Rules
rules:
- name: foo-NAMESPACE
  for: {apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, namespaces: [NAMESPACE]}
  let:
    labels: {app: nginx, controller: "${self.metadata.name}"}
  validate:
  - expression: self.spec.?deploymentName.orValue("") != ""
    message: spec.deploymentName must be set
  children:
  - id: deployment
    template:
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: ${self.spec.deploymentName}
        labels: ${labels}
      spec:
        replicas: ${self.spec.?replicas.orValue(1)}
        selector: {matchLabels: "${labels}"}
        template:
          metadata: {labels: "${labels}"}
          spec:
            containers:
            - name: nginx
              image: nginx:latest
  status:
    availableReplicas: ${deployment.status.?availableReplicas.orValue(0)}
`
