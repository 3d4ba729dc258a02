package cli

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"reconcel/rules/crd"
)

// tellConditionsBlock prints the missing lines of CRDs without conditions.
func (c validateCommand) tellConditionsBlock(unreported []schema.GroupVersionKind) {
	if len(unreported) == 0 {
		return
	}
	var of []string
	for _, gvk := range unreported {
		of = append(of, fmt.Sprintf("%s (%s)", gvk.Kind, gvk.GroupVersion()))
	}
	c.out.say("# Merge this into spec.versions of the CRD of %s:\n%s", strings.Join(of, ", "),
		strings.TrimSuffix(crd.Conditions, "\n"))
}
