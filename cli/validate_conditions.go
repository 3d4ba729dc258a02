package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// conditionsBlock is what a version of a CRD needs so that reconcel can report on
// its resources and kubectl get shows it. It is indented as an entry of
// spec.versions. docs/how-to/crd.md repeats it.
const conditionsBlock = `    subresources:
      status: {}
    additionalPrinterColumns:
    - name: Ready
      description: Whether the resource and its children are up to date and ready
      type: string
      jsonPath: .status.conditions[?(@.type=="Ready")].status
    - name: Reason
      description: Why it is ready or not, in one word
      type: string
      jsonPath: .status.conditions[?(@.type=="Ready")].reason
    - name: Message
      description: Why it is ready or not
      type: string
      priority: 1 # shown by kubectl get -o wide
      jsonPath: .status.conditions[?(@.type=="Ready")].message
    - name: Age
      type: date
      jsonPath: .metadata.creationTimestamp
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status:
            type: object
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, lastTransitionTime, reason, message]
                  properties:
                    type: {type: string, maxLength: 316}
                    status: {type: string, enum: ["True", "False", Unknown]}
                    observedGeneration: {type: integer, format: int64, minimum: 0}
                    lastTransitionTime: {type: string, format: date-time}
                    reason: {type: string, minLength: 1, maxLength: 1024}
                    message: {type: string, maxLength: 32768}
`

// tellConditionsBlock prints the missing lines of CRDs without conditions.
func (a *app) tellConditionsBlock(unreported []schema.GroupVersionKind) {
	if len(unreported) == 0 {
		return
	}
	var of []string
	for _, gvk := range unreported {
		of = append(of, fmt.Sprintf("%s (%s)", gvk.Kind, gvk.GroupVersion()))
	}
	a.say("# Merge this into spec.versions of the CRD of %s:\n%s", strings.Join(of, ", "), strings.TrimSuffix(conditionsBlock, "\n"))
}
