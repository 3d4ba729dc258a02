package cli

import (
	_ "embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// conditionsBlock is what a version of a CRD needs so that reconcel can report on
// its resources and kubectl get shows it. It is indented as an entry of
// spec.versions. docs/how-to/crd.md repeats it.
//
//go:embed validate_conditions.yaml
var conditionsBlock string

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
