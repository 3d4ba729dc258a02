package watch

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Scope is the list of watched namespaces; an empty one is the whole cluster.
type Scope []string

// Contains reports whether a namespace is watched.
func (s Scope) Contains(namespace string) bool { return len(s) == 0 || slices.Contains(s, namespace) }

// OutsideError returns the error for a namespace that is not watched.
func (s Scope) OutsideError(namespace string) error {
	return fmt.Errorf("namespace %q is not one of those that reconcel watches: %s", namespace, strings.Join(s, ", "))
}

// Namespaces returns the namespaces to list one by one; "" lists all at once.
func (s Scope) Namespaces() []string {
	if len(s) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s
}
