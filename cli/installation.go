package cli

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"reconcel/cli/internal/exit"
	"reconcel/engine/inventory"
)

// validInstallation returns an error if no installation can have this namespace and name: the API
// server would reject all of its own objects, and the process would wait for ever.
func validInstallation(namespace, name string) error {
	if why := validation.IsDNS1123Label(namespace); namespace != "" && len(why) > 0 {
		return exit.Misused("--namespace %q: %s", namespace, strings.Join(why, ", "))
	}
	if why := validation.IsDNS1123Subdomain(inventory.Name(name)); len(why) > 0 {
		return exit.Misused("--name %q: %s", name, strings.Join(why, ", "))
	}
	return nil
}
