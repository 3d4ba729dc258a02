package decide

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"reconcel/engine/outcome"
)

// LostVersionIn returns the version that an error names, or "".
func LostVersionIn(err error) string {
	m := outcome.LostVersion.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	return strings.TrimRight(m[1], `"',;:)`)
}

// MostLostVersions limits how many versions one apply repairs. A CRD seldom loses several at once.
const MostLostVersions = 4

// ExplainLostVersion names the managers whose entries name a version that the CRD does not have, and what to do.
func ExplainLostVersion(u *unstructured.Unstructured, managers []string, apiVersion, remedy string,
	answer error) error {
	_, version, _ := strings.Cut(apiVersion, "/")
	return &outcome.ExplainedError{Err: &outcome.LostVersionError{Answer: answer}, Cause: fmt.Sprintf(
		"metadata.managedFields of %s/%s has an entry of manager %s in version %s, which its CustomResourceDefinition does "+
			"not have any more; "+
			"add version %[4]s to the CustomResourceDefinition again with served: false, or %[5]s",
		u.GetKind(), u.GetName(), outcome.JoinFirst(managers), version, remedy)}
}
