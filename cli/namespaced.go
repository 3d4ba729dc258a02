package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// namespaceList is a flag that names the namespaces that are followed; none
// stands for all. One that was given and is empty is a mistake, lest more is
// followed than somebody meant.
type namespaceList []string

func (n *namespaceList) flag(flags *pflag.FlagSet, usage string) {
	flags.Var(n, "namespaced", usage)
}

// String, Type and Set implement pflag.Value.
func (n *namespaceList) String() string { return strings.Join(*n, ",") }

// Type is what help calls the value.
func (n *namespaceList) Type() string { return "namespaces" }

// Set adds names between commas.
func (n *namespaceList) Set(s string) error { return n.add(strings.Split(s, ",")) }

// Append implements pflag.SliceValue.
func (n *namespaceList) Append(s string) error { return n.add([]string{s}) }

// GetSlice implements pflag.SliceValue.
func (n *namespaceList) GetSlice() []string { return *n }

// Replace implements pflag.SliceValue.
func (n *namespaceList) Replace(names []string) error {
	if len(names) == 0 {
		return errors.New("it names no namespace; omit it to watch all namespaces")
	}
	*n = nil
	return n.add(names)
}

func (n *namespaceList) add(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("%q is not the name of a namespace (write names separated by commas: team-a,team-b)", name)
		}
		if !slices.Contains(*n, name) {
			*n = append(*n, name)
		}
	}
	return nil
}
