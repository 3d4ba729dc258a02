//go:build integration

package engine_test

import "reconcel/test/e2e"

const widgetCRD = e2e.WidgetCRD

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
